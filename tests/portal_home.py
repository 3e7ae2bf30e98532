"""A small home of our own documents for the tests of the portal: the embedded engine, the hashing encoder."""

import threading
from datetime import date

from werkzeug.serving import make_server

from mappings.documents import Document, Section
from search.bootstrap import Medley
from search.settings import Settings
from web import create_app
from web.cli.indexing import fill_quietly

ABSTRACTS = [
    (
        "pm/1",
        "Statins after myocardial infarction",
        "public",
        2015,
        "Heart",
        "Statins lowered mortality after myocardial infarction.",
    ),
    (
        "pm/2",
        "Aspirin for prevention of stroke",
        "public",
        2018,
        "Brain",
        "Aspirin reduced stroke in adults. Bleeding was more frequent.",
    ),
    (
        "pm/3",
        "Metformin and weight",
        "public",
        2020,
        "Diabetes Today",
        "Metformin lowered weight in adults with type 2 diabetes.",
    ),
    ("pm/4", "Statins in the very old", "public", 2020, "Heart", "Statins did not lower mortality in adults over 85."),
    (
        "secret/1",
        "Statins, an embargoed trial",
        "embargo",
        2021,
        "Heart",
        "Statins halved mortality in the embargoed trial.",
    ),
]
NOTES = [
    (
        "p1/n1",
        "Chest radiograph",
        "ward-7",
        "p1",
        "Radiology",
        date(2020, 1, 5),
        Section("FINDINGS", "Right lower lobe pneumonia. No effusion."),
    ),
    (
        "p1/n2",
        "Discharge summary",
        "ward-7",
        "p1",
        "Discharge",
        date(2020, 1, 9),
        Section("HOSPITAL COURSE", "Pneumonia treated with antibiotics."),
    ),
    (
        "p2/n1",
        "Chest radiograph",
        "ward-8",
        "p2",
        "Radiology",
        date(2021, 3, 2),
        Section("FINDINGS", "Pneumonia with large effusion."),
    ),
]


def abstract(identifier, title, label, year, journal, text):
    fields = {"year": float(year), "journal": journal, "source": "trials", "published": date(year, 6, 1)}
    return Document(identifier, title, (Section("Results", text),), frozenset({label}), fields)


def note(identifier, title, label, patient, kind, day, section):
    fields = {"patient": patient, "type": kind, "date": day}
    return Document(identifier, title, (section,), frozenset({label}), fields)


def settings_of(home):
    return Settings(home=home, encoder="hashing-256", reranker="none")


def fill(home, settings=None):
    """Both collections, indexed in `home`, or wherever `settings` say."""
    medley = Medley.open(settings or settings_of(home))
    for name, documents in (
        ("abstracts", [abstract(*row) for row in ABSTRACTS]),
        ("notes", [note(*row) for row in NOTES]),
    ):
        medley.collections.create(name)
        medley.collections.store(name).put(documents)
        fill_quietly(medley, name)
    return home


def serve(home, settings=None):
    """Yields the address of a portal over `home`, or with other `settings`, and closes it afterwards."""
    server = make_server("127.0.0.1", 0, create_app(settings or settings_of(home)), threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()
