"""The suite `findings`: reports *with* a finding, judged by the headings that indexers gave the reports (Indiana, MeSH).

A question is a finding as a clinician types it into `with`; its answers are the reports with the heading that it stands
for, or with a narrower one. The indexers also gave headings to what a report only suspects, or tells of the past, and none
to what only its indication tells. Where their heading is wider than the finding, its qualifiers tell them apart:

- A nodule is a rounded opacity, which they head "Opacity" or "Density" with the qualifier "round".
- An opacity or infiltrate with the qualifier "pulmonary alveoli" is airspace disease. "Infiltrate" alone is no heading of it:
  it says nothing of the air spaces, and interstitial infiltrates have it, too.
- "Cardiac Shadow/enlarged" is cardiomegaly, in the words that radiologists prefer.
- Most reports with "Markings" have crowded bronchovascular markings, from low volumes: not prominent ones.
- A prominent interstitium is prominent interstitial markings: "Lung" with the qualifier "interstitial", which one report has
  as "abnormal", all others as "prominent".
- Spondylosis is arthritis of the spine (ICD-10: M47), "Bullous Emphysema" emphysema, and clips, sutures and implants of the
  breast are devices, as in MeSH's own tree (E07).
- Air with fluid or blood in the pleural space is a pneumothorax, and with fluid an effusion.
- "Funnel Chest" and "Pectus Carinatum" are deformities of the chest wall, and reports call them so.
- One report of a chest has "Fibrosis" alone, for "diffuse fibrosis" of both lungs.

Reports with "No Indexing" were given to no indexer: they are neither answers nor wrong, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evaluation.suite import Suite
from evaluation.task import Corpus, Question, Task
from mappings import collection as kinds
from mappings.collection import Collection
from mappings.datasets.indiana_cxr import ChestReport, read_reports
from mappings.documents import Document, Section
from search.settings import Settings

NAME: Final = "findings"
LEAST: Final = 10
"""Reports that a heading needs to become a question."""
WINDOW: Final = 1_000
"""Documents of one answer: more than have any one heading, so that R-precision is not cut off."""
UNJUDGED: Final = "No Indexing"
"""In place of the headings of a report that no indexer was given."""
MEASURES: Final = ("P@10", "Rprec", "AP")


HEADINGS: Final = {
    "airspace disease": (
        "Airspace Disease",
        "Consolidation",
        "Opacity/pulmonary alveoli",
        "Infiltrate/pulmonary alveoli",
    ),
    "arthritis": ("Arthritis", "Spondylosis"),
    "atelectasis": ("Pulmonary Atelectasis",),
    "atherosclerosis": ("Atherosclerosis",),
    "calcification": ("Calcinosis", "Calcified Granuloma", "Atherosclerosis"),
    "calcified granuloma": ("Calcified Granuloma",),
    "cardiomegaly": ("Cardiomegaly", "Cardiac Shadow/enlarged"),
    "catheter": ("Catheters, Indwelling",),
    "consolidation": ("Consolidation",),
    "COPD": ("Pulmonary Disease, Chronic Obstructive", "Emphysema", "Pulmonary Emphysema", "Bullous Emphysema"),
    "deformity": ("Deformity", "Funnel Chest", "Pectus Carinatum"),
    "emphysema": ("Emphysema", "Pulmonary Emphysema", "Bullous Emphysema"),
    "eventration of the diaphragm": ("Diaphragmatic Eventration",),
    "foreign body": ("Foreign Bodies",),
    "fracture": ("Fractures, Bone",),
    "granuloma": ("Granuloma", "Calcified Granuloma", "Granulomatous Disease"),
    "granulomatous disease": ("Granulomatous Disease",),
    "hiatal hernia": ("Hernia, Hiatal",),
    "hyperlucent lung": ("Lung, Hyperlucent", "Lucency"),
    "infiltrate": ("Infiltrate",),
    "interstitial lung disease": ("Lung Diseases, Interstitial", "Pulmonary Fibrosis", "Fibrosis"),
    "kyphosis": ("Kyphosis",),
    "mass": ("Mass",),
    "medical device": (
        "Medical Device",
        "Implanted Medical Device",
        "Catheters, Indwelling",
        "Breast Implants",
        "Stents",
        "Surgical Instruments",
        "Sutures",
        "Tube, Inserted",
    ),
    "nodule": ("Nodule", "Opacity/round", "Density/round"),
    "opacity": ("Opacity", "Airspace Disease", "Consolidation", "Infiltrate", "Pulmonary Atelectasis", "Density"),
    "osteopenia": ("Bone Diseases, Metabolic",),
    "osteophyte": ("Osteophyte",),
    "pleural effusion": ("Pleural Effusion", "Hydropneumothorax"),
    "pneumonia": ("Pneumonia",),
    "pneumothorax": ("Pneumothorax", "Hydropneumothorax", "Hemopneumothorax"),
    "prominent lung markings": ("Markings/interstitial", "Markings/prominent", "Lung/interstitial"),
    "pulmonary edema": ("Pulmonary Edema",),
    "pulmonary fibrosis": ("Pulmonary Fibrosis", "Fibrosis"),
    "pulmonary vascular congestion": ("Pulmonary Congestion",),
    "scarring": ("Cicatrix",),
    "scoliosis": ("Scoliosis",),
    "spinal fusion": ("Spinal Fusion",),
    "spondylosis": ("Spondylosis",),
    "stent": ("Stents",),
    "surgical clips": ("Surgical Instruments",),
    "thickening": ("Thickening",),
    "volume loss": ("Volume Loss",),
}
"""Finding as it is typed -> its headings, narrower ones too. Headings of places and of technique are no findings."""


def task(settings: Settings) -> Task:
    """The suite over all reports in MEDLEY_DATA. Raises `NotFound` without them."""
    reports = [report for report in read_reports(settings.data) if _is_judged(report)]
    collection = kinds.load("reports", None, settings.collections)
    judgements = dict(_judge(reports))
    questions = tuple(Question(_id(finding), having=(finding,)) for finding in HEADINGS if _id(finding) in judgements)
    return Task(
        suite=NAME,
        corpus=Corpus(NAME, "reports", lambda: (_document(report, collection) for report in reports)),
        questions=questions,
        judgements=judgements,
        measures=MEASURES,
        window=WINDOW,
        notes=(
            f"{len(reports):,} chest X-ray reports that were indexed; {len(questions)} findings of which at least {LEAST} reports have a heading",
            "judged by the MeSH headings of the reports' own indexers, which count what is only suspected too",
        ),
    )


def _is_judged(report: ChestReport) -> bool:
    return bool(report.findings or report.impression) and UNJUDGED not in report.headings


def _judge(reports: list[ChestReport]) -> Iterator[tuple[str, dict[str, int]]]:
    for finding, headings in HEADINGS.items():
        having = {report.id: 1 for report in reports if not report.headings.isdisjoint(headings)}
        if len(having) >= LEAST:
            yield _id(finding), having


def _id(finding: str) -> str:
    return finding.lower().replace(" ", "-")


def _document(report: ChestReport, collection: Collection) -> Document:
    parts = (("Indication", report.indication), ("Findings", report.findings), ("Impression", report.impression))
    sections = tuple(Section(heading, text) for heading, text in parts if text)
    return Document(report.id, "Chest X-ray", sections, collection.default_labels)


SUITE = Suite(NAME, "chest X-ray reports with a finding", lambda settings, options: [task(settings)])
