"""A home with a collection of invented studies whose kind has a stance classifier: a tiny one, which says anything."""

from datetime import date
from pathlib import Path

from tiny import write_artifact

from mappings.collection import kinds
from mappings.documents import Document, Section
from search.bootstrap import Medley
from search.settings import Settings
from web import create_app
from web.cli.indexing import fill_quietly

STUDIES = [
    (
        "pm/1",
        "Aspirin for prevention of stroke",
        ("randomised trial",),
        1200.0,
        "Aspirin reduced stroke in adults. Bleeding was more frequent.",
    ),
    ("pm/2", "Aspirin and stroke in women", ("cohort study",), 39876.0, "Aspirin lowered the risk of stroke in women."),
    (
        "pm/3",
        "Retracted: aspirin abolishes stroke",
        ("retracted", "randomised trial"),
        40.0,
        "Aspirin abolished stroke in adults.",
    ),
    (
        "pm/4",
        "Aspirin without benefit",
        ("meta-analysis",),
        95000.0,
        "Aspirin did not reduce stroke in adults without disease.",
    ),
    ("pm/5", "Coffee and stroke", (), None, "Coffee was associated with fewer strokes in adults."),
]
"""(id, title, badges, sample size, text)."""


def study(identifier, title, badges, size, text):
    fields = {
        "year": 2018.0,
        "journal": "Brain",
        "published": date(2018, 6, 1),
        "pmid": identifier.removeprefix("pm/") * 5,
    }
    fields |= {"badges": badges} if badges else {}
    fields |= {"sample_size": size} if size else {}
    return Document(identifier, title, (Section("Results", text),), frozenset({"public"}), fields)


def settings_of(folder: Path) -> Settings:
    return Settings(
        home=folder / "home",
        models=folder / "models",
        collections=folder / "kinds",
        encoder="hashing-256",
        reranker="none",
        stance="tiny-stance",
    )


def fill(folder: Path, stance: bool = True, private: bool = False, deadline_ms: int = 20_000) -> Path:
    """The home in `folder`: the collection `studies`, and `abstracts` of a kind without a model."""
    text = kinds()["abstracts"].read_text(encoding="utf-8").partition("[stance]")[0]
    text = f"private_queries = true\n{text}" if private else text
    text += f'\n[stance]\nmodel = "tiny-stance"\ndeadline_ms = {deadline_ms}\n' if stance else ""
    (folder / "kinds").mkdir(parents=True)
    (folder / "kinds" / "abstracts.toml").write_text(text.partition("\n[stance]")[0], encoding="utf-8")
    (folder / "kinds" / "studies.toml").write_text(text, encoding="utf-8")
    write_artifact(folder / "models" / "tiny-stance", "stance-classifier")
    medley = Medley.open(settings_of(folder))
    for name in ("studies", "abstracts"):
        medley.collections.create(name, name)
        medley.collections.store(name).put([study(*row) for row in STUDIES])
        fill_quietly(medley, name)
    return folder


def client_of(folder: Path):
    """A client of the portal over the home in `folder`."""
    app = create_app(settings_of(folder))
    app.testing = True
    return app.test_client()
