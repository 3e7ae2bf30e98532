"""Notes of four patients whose documents carry different labels, for the tests of cohorts over HTTP and on the command line."""

from datetime import date

from portal_home import note

from mappings.documents import Section
from web.cli.indexing import fill_quietly


def written(identifier, label, patient, text, kind="Radiology", day=date(2022, 2, 2)):
    return note(identifier, "Chest radiograph", label, patient, kind, day, Section("FINDINGS", text))


COHORT_NOTES = [
    written("a/1", "ward-7", "a", "Pneumonia of the left lung.", day=date(2022, 1, 1)),
    written("a/2", "ward-8", "a", "No fever. Mother with gout.", "Discharge"),
    written("b/1", "ward-7", "b", "No pneumonia. Possible fever."),
    written("c/1", "ward-8", "c", "Pneumonia. Fever since yesterday."),
    written("d/1", "ward-7", "d", "=HYPERLINK(1) pneumonia is seen."),
]


def fill_cohort_notes(medley, name="cohorts", documents=COHORT_NOTES):
    """Make the collection `name` of `documents`, and index it."""
    if name not in medley.collections.names():
        medley.collections.create(name, "notes")
    medley.collections.store(name).put(documents)
    fill_quietly(medley, name)
