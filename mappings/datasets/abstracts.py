"""The pool of biomedical abstracts: 38,996 of them, with labelled sections where these are known.

764 titles, mostly of reviews, end in what a database appended: "Statins for gout. [Review] [45 refs]1452".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mappings.datasets.files import dataset_records, labelled_sections
from mappings.documents import Section

NAME: Final = "abstracts"


@dataclass(frozen=True, slots=True)
class SectionedAbstract:
    """An abstract in sections; the heading of a section is its label, empty where there is none."""

    id: str
    title: str
    sections: tuple[Section, ...]

    @property
    def text(self) -> str:
        """The text of all sections, joined by spaces."""
        return " ".join(section.text for section in self.sections)


def bare_title(title: str) -> str:
    """A title without what a database appended in brackets; one that is all in brackets, a translation, is empty."""
    return title.partition("[")[0].strip()


def read_abstracts(data: Path | None) -> Iterator[SectionedAbstract]:
    """The abstracts, in the order of the file."""
    for record in dataset_records(data, f"{NAME}/abstracts", ("doc_id", "title", "sections")):
        yield SectionedAbstract(record["doc_id"], record["title"], labelled_sections(record["sections"]))
