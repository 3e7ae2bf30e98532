"""A small lexicon of concepts for tests."""

from __future__ import annotations

from pathlib import Path

from mappings.clinical.concepts import ConceptLexicon, load_concepts

FINDINGS = (
    "lung-disease\tlung disease\t\t\t",
    "pneumonia\tpneumonia\tlung-disease\tlung infection\tPNA",
    "lobar-pneumonia\tlobar pneumonia\tpneumonia\t\t",
    "pleural-effusion\tpleural effusion\t\teffusion|fluid around the lung\t",
    "multiple-sclerosis\tmultiple sclerosis\t\t\tMS?",
    "mitral-stenosis\tmitral stenosis\t\t\tMS?",
    "crohn-disease\tCrohn disease\t\tCrohn's disease\t",
    "c-difficile-infection\tClostridioides difficile infection\t\tC. difficile\tC. diff",
    "copd\tchronic obstructive pulmonary disease\tlung-disease\t\tCOPD",
    "aids\tacquired immunodeficiency syndrome\t\t\tAIDS",
    "mediastinitis\tmediastinitis\t\t\t",
    "maxillary-sinusitis\tmaxillary sinusitis\t\t\t",
    "fever\tfever\t\tfebrile\t",
    "diabetes\tdiabetes mellitus\t\tdiabetes\tDM",
)
DRUGS = ("morphine-sulfate\tmorphine sulfate\t\t\tMS?", "warfarin\twarfarin\t\tCoumadin\t")


def write(folder: Path, findings: tuple[str, ...] = FINDINGS, drugs: tuple[str, ...] = DRUGS) -> Path:
    folder.mkdir(exist_ok=True)
    for name, rows in (("findings", findings), ("drugs", drugs)):
        (folder / f"{name}.tsv").write_text("\n".join(("# Written for tests.", *rows)), encoding="utf-8")
    return folder


def small_lexicon(folder: Path) -> ConceptLexicon:
    return load_concepts(folder=write(folder))
