"""Evidence inference (Lehman et al. 2019): reports of trials, and what they compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from mappings.datasets.abstracts import SectionedAbstract
from mappings.datasets.files import dataset_folder, dataset_records, existing_file, labelled_sections, numbered_lines
from mappings.errors import InvalidInput

NAME: Final = "evidence_inference"


Finding = Literal["significantly increased", "significantly decreased", "no significant difference"]
FINDINGS: Final[tuple[Finding, ...]] = get_args(Finding)


@dataclass(frozen=True, slots=True)
class TrialPrompt:
    """What one trial report compared: an intervention with a comparator, by an outcome. `article` is the report's id."""

    id: str
    article: str
    intervention: str
    comparator: str
    outcome: str


def read_abstracts(data: Path | None) -> Iterator[SectionedAbstract]:
    """The abstracts of the trial reports; an abstract's id is its article's."""
    for record in dataset_records(data, f"{NAME}/abstracts", ("pmcid", "title", "abstract_sections")):
        sections = labelled_sections(record["abstract_sections"])
        yield SectionedAbstract(str(record["pmcid"]), record["title"], sections)


def read_prompts(data: Path | None) -> Iterator[TrialPrompt]:
    """The prompts of all splits; `read_train_articles` tells which split a prompt's article is in."""
    names = ("PromptID", "PMCID", "Intervention", "Comparator", "Outcome")
    for record in dataset_records(data, f"{NAME}/prompts", names):
        yield TrialPrompt(*(str(record[name]) for name in names))


@dataclass(frozen=True, slots=True)
class TrialFinding:
    """What a report found of the outcome of a prompt, under the intervention against the comparator, and the words for it."""

    prompt: str
    article: str
    finding: Finding
    words: str


def read_findings(data: Path | None) -> Iterator[TrialFinding]:
    """The 4,189 annotations, of 2,700 prompts. Raises `InvalidInput` for an unknown finding."""
    for record in dataset_records(data, f"{NAME}/annotations", ("PromptID", "PMCID", "Label", "Annotations")):
        if record["Label"] not in FINDINGS:
            raise InvalidInput(
                f"the finding is {record['Label']!r:.80}; known are {', '.join(FINDINGS)}", field="Label"
            )
        yield TrialFinding(str(record["PromptID"]), str(record["PMCID"]), record["Label"], record["Annotations"])


def read_train_articles(data: Path | None) -> frozenset[str]:
    """The ids of the articles that training is allowed to see."""
    return _read_articles(data, "train")


def read_test_articles(data: Path | None) -> frozenset[str]:
    """The ids of the articles of the test split, without those of the validation split."""
    return _read_articles(data, "test")


def _read_articles(data: Path | None, split: str) -> frozenset[str]:
    path = existing_file(dataset_folder(data, NAME) / f"{split}_article_ids.txt")
    return frozenset(name for _, line in numbered_lines(path) for name in line.split())
