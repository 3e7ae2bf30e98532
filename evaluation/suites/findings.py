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

RADIOLOGY leaves queries of several findings open (R6 of docs/papers.md). Two further tasks ask for them in words, "A and B" and
"A without B", where neither finding has a heading of the other, and ten reports have both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations, permutations
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
TOGETHER, WITHOUT = "A and B", "A without B"
"""The tasks that ask for two findings."""
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
    """The main task, over all reports in MEDLEY_DATA. Raises `NotFound` without them."""
    reports = _read_judged(settings)
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


def tasks(settings: Settings) -> list[Task]:
    """The main task, and what asks for two findings. Raises `NotFound` without reports."""
    main = task(settings)
    further = [item for item in combine(main, _read_judged(settings)) if item.questions]
    counted = [f"{len(item.questions)} texts {item.variant!r}" for item in further]
    said = f"{' and '.join(counted)}, of findings that are apart; what no heading tells counts as absent"
    return [replace(main, notes=(*main.notes, said)) if further else main, *further]


def combine(main: Task, reports: list[ChestReport]) -> list[Task]:
    """Two findings in one text, over the same reports: both of them, and the first without the second."""
    having = dict(_judge(reports))
    found = {finding: frozenset(having[_id(finding)]) for finding in HEADINGS if _id(finding) in having}
    apart = [
        (first, second)
        for first, second in permutations(found, 2)
        if _bare(first).isdisjoint(_bare(second)) and len(found[first] & found[second]) >= LEAST
    ]
    pairs = [pair for pair in combinations(found, 2) if pair in apart]
    both = {f"{one} and {other}": found[one] & found[other] for one, other in pairs}
    lacking = {f"{one} without {other}": found[one] - found[other] for one, other in apart}
    kept = {text: answers for text, answers in lacking.items() if len(answers) >= LEAST}
    return [_asked_in_words(main, variant, asked) for variant, asked in ((TOGETHER, both), (WITHOUT, kept))]


def _bare(finding: str) -> frozenset[str]:
    """The headings of a finding without qualifiers: "Opacity/round" is of those with "Opacity"."""
    return frozenset(heading.split("/")[0] for heading in HEADINGS[finding])


def _asked_in_words(main: Task, variant: str, asked: Mapping[str, frozenset[str]]) -> Task:
    return replace(
        main,
        variant=variant,
        questions=tuple(Question(_id(text), text) for text in asked),
        judgements={_id(text): dict.fromkeys(sorted(answers), 1) for text, answers in asked.items()},
        reference=True,
        depth=WINDOW,
        notes=(),
    )


def _read_judged(settings: Settings) -> list[ChestReport]:
    return [report for report in read_reports(settings.data) if _is_judged(report)]


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


SUITE = Suite(
    NAME,
    "chest X-ray reports with a finding, with two, and with one without another",
    lambda settings, options: tasks(settings),
)
