"""What evaluation judges, suite by suite: the queries and passages that no training file may hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from encoders.labels import abstracts, claims
from encoders.labels.notes import note_sections
from encoders.labels.pairs import Text
from encoders.labels.records import Record, records
from encoders.labels.split import is_test_note
from mappings.analysis.sections import split_note
from mappings.errors import NotFound


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A suite's evaluation split.

    `claims`: whether its queries are statements of their own, so that a near-twin is the same story; where they are
    templates ("What causes X?") only the same query is.
    """

    suite: str
    queries: tuple[str, ...]
    texts: tuple[Text, ...]
    claims: bool = False


def evaluated(data: Path) -> list[Evaluated]:
    """Every suite whose data set lies in `data`.

    Raises `NotFound` where `data` holds none of the data sets, which would let everything pass, or a data set without
    one of its files.
    """
    known = (*_SUITES, _REPORTS)
    if not any((data / folder).is_dir() for folder in known):
        what = f"holds none of the data sets ({', '.join(known)})" if data.is_dir() else "is no folder"
        raise NotFound(
            f"MEDLEY_DATA is {data}, which {what}: without them nothing tells what evaluation judges; name their"
            " folder, or unset it",
            field="MEDLEY_DATA",
        )
    return [make(data) for folder, make in _SUITES.items() if (data / folder).is_dir()]


def _scifact(data: Path) -> Evaluated:
    cited = claims.cited_in_development(data)
    texts = tuple(text for text in claims.scifact_corpus(data) if text.id in cited)
    return Evaluated("scifact", _of(records(data, "scifact/claims_dev.jsonl.gz"), "claim"), texts, claims=True)


def _check_covid(data: Path) -> Evaluated:
    queries = _of(records(data, "check_covid/claims_dev.jsonl.gz"), "claim")
    return Evaluated("check-covid", queries, tuple(claims.check_covid_corpus(data)), claims=True)


def _cystic_fibrosis(data: Path) -> Evaluated:
    found = records(data, "cystic_fibrosis/corpus.jsonl.gz")
    texts = tuple(Text(r["doc_id"], r["title"], "", r["abstract"]) for r in found)
    queries = "cystic_fibrosis/queries.jsonl.gz"
    asked = records(data, queries) if (data / queries).is_file() else []
    return Evaluated("cystic-fibrosis", _of(asked, "text"), texts, claims=True)


def _medquad(data: Path) -> Evaluated:
    judged = {record["passage"] for record in records(data, "medquad/cdv_test_passages.jsonl.gz")}
    texts = tuple(
        Text(passage["id"], "", "", passage["text"])  # the title is an entity's name, which others may share
        for record in records(data, "medquad/documents.jsonl.gz")
        for passage in record["passages"]
        if passage["id"] in judged
    )
    asked = records(data, "medquad/cdv_test_queries.jsonl.gz")
    slots = (f"{r['entity']} {r[name]}" for r in asked for name in ("aspect", "aspect_heading") if r.get(name))
    return Evaluated("medquad", (*_of(asked, "question"), *slots), texts)


def _press(data: Path) -> Evaluated:
    found = records(data, "press_releases/insciout_test.jsonl.gz")
    texts = tuple(Text(r["original_file_id"], "", "", r["abstract_conclusion"]) for r in found)
    return Evaluated("press", _of(found, "press_release_conclusion"), texts, claims=True)


def _notes(data: Path) -> Evaluated:
    found = [r for r in records(data, "mtsamples/notes.jsonl.gz") if is_test_note(r["id"])]
    return Evaluated("notes", (), tuple(text for record in found for text in note_texts(record["id"], record)))


def note_texts(identifier: str, record: Record) -> Iterator[Text]:
    """The sections of a note as labelling cuts it, and as the product does."""
    yield from note_sections(record)
    for number, section in enumerate(split_note(record["text"])):
        yield Text(f"{identifier}:{number}", "", section.heading, section.text)


def _evidence(data: Path) -> Evaluated:
    train = abstracts.train_articles(data)
    found = [r for r in records(data, "evidence_inference/abstracts.jsonl.gz") if str(r["pmcid"]) not in train]
    prompts = [r for r in records(data, "evidence_inference/prompts.jsonl.gz") if str(r["PMCID"]) not in train]
    return Evaluated("evidence", tuple(map(abstracts.trial_question, prompts)), tuple(map(abstracts.trial_text, found)))


def _mts_dialog(data: Path) -> Evaluated:
    files = sorted((data / "mts_dialog").glob("*TestSet*.jsonl.gz"))
    found = [r for file in files for r in records(data, f"mts_dialog/{file.name}")]
    texts = tuple(Text(str(r["ID"]), "", r["section_header"], r["section_text"]) for r in found)
    return Evaluated("mts-dialog", (), texts)


def _aci_bench(data: Path) -> Evaluated:
    files = sorted((data / "aci_bench").glob("*test*.jsonl.gz"))
    found = [r for file in files for r in records(data, f"aci_bench/{file.name}")]
    texts = (
        Text(f"{r['encounter_id']}:{number}", "", section.heading, section.text)
        for r in found
        for number, section in enumerate(split_note(r["note"]))
    )
    return Evaluated("aci-bench", (), tuple(texts))


def _of(found: Iterable[Record], name: str) -> tuple[str, ...]:
    return tuple(record[name] for record in found if record.get(name))


_SUITES: Final[Mapping[str, Callable[[Path], Evaluated]]] = {
    "scifact": _scifact,
    "check_covid": _check_covid,
    "cystic_fibrosis": _cystic_fibrosis,
    "medquad": _medquad,
    "press_releases": _press,
    "mtsamples": _notes,
    "evidence_inference": _evidence,
    "mts_dialog": _mts_dialog,
    "aci_bench": _aci_bench,
}
_REPORTS: Final = "indiana_cxr"
"""The one data set whose suite asks nothing that a text could repeat: its folds keep the sides apart."""
