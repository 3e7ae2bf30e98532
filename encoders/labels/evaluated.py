"""What evaluation judges, suite by suite: the queries and passages that no training file is allowed to contain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from encoders.labels.pairs import Text
from encoders.labels.split import TEST_YEARS, is_test_note, is_test_summary
from encoders.labels.tasks import abstracts, claims, forms
from encoders.labels.tasks.health import read_judged_names
from encoders.labels.tasks.notes import note_sections
from encoders.labels.tasks.summaries import summary_question
from mappings.analysis.sections import split_note
from mappings.datasets import (
    aci_bench,
    answer_grades,
    bioasq,
    check_covid,
    citation_integrity,
    cystic_fibrosis,
    evidence_inference,
    indiana_cxr,
    lay,
    medquad,
    mts_dialog,
    mtsamples,
    press_releases,
    scifact,
)
from mappings.datasets.abstracts import NAME as ABSTRACTS
from mappings.errors import NotFound


@dataclass(frozen=True, slots=True)
class JudgedData:
    """A suite's evaluation split.

    `claims`: whether its queries are statements of their own, so that a near-twin tells the same story. Where they come
    from templates ("What causes X?"), only the same query counts.
    `clinical`: whether its texts are sections of notes, which other data sets can cut elsewhere or mask differently.
    `names`: the names of its entities, as `name_key`s, that no training article may have as its title.
    """

    suite: str
    queries: tuple[str, ...]
    texts: tuple[Text, ...]
    claims: bool = False
    clinical: bool = False
    names: frozenset[str] = frozenset()


def read_judged_data(data: Path) -> list[JudgedData]:
    """Every suite whose data set is in `data`.

    Raises `NotFound` if `data` contains none of the data sets, which would let everything pass, or a data set without
    one of its files.
    """
    known = (*_SUITES, indiana_cxr.NAME)
    if not any((data / folder).is_dir() for folder in known):
        what = f"contains none of the data sets ({', '.join(known)})" if data.is_dir() else "is not a folder"
        raise NotFound(
            f"MEDLEY_DATA is {data}, which {what}, so nothing says what evaluation judges; name the folder of the data"
            " sets, or unset it",
            field="MEDLEY_DATA",
        )
    return [read(data) for folder, read in _SUITES.items() if (data / folder).is_dir()]


def read_judged_suite(data: Path, suite: str) -> JudgedData | None:
    """What one suite judges; None for a suite without a data set of its own here. Raises `NotFound` as reading does."""
    folder = _SUITE_DATA.get(suite)
    return _SUITES[folder](data) if folder else None


def _scifact(data: Path) -> JudgedData:
    cited = claims.read_development_citations(data)
    texts = tuple(text for text in claims.read_scifact_texts(data) if text.id in cited)
    return JudgedData("scifact", _filled(claim.text for claim in scifact.read_claims(data, "dev")), texts, claims=True)


def _check_covid(data: Path) -> JudgedData:
    queries = _filled(claim.text for claim in check_covid.read_claims(data, "dev"))
    return JudgedData("check-covid", queries, tuple(claims.read_check_covid_texts(data)), claims=True)


def _cystic_fibrosis(data: Path) -> JudgedData:
    texts = tuple(Text(item.id, item.title, "", item.text) for item in cystic_fibrosis.read_corpus(data))
    queries = _filled(query.text for query in cystic_fibrosis.read_queries(data))
    return JudgedData("cystic-fibrosis", queries, texts, claims=True)


def _medquad(data: Path) -> JudgedData:
    judged = {passage.id for passage in medquad.read_judged_passages(data)}
    texts = tuple(
        Text(passage.id, "", "", passage.text)  # the title is an entity's name, which other articles can share
        for article in medquad.read_articles(data)
        for passage in article.passages
        if passage.id in judged
    )
    questions = list(medquad.read_questions(data))
    slots = (f"{item.entity} {aspect}" for item in questions for aspect in (item.aspect, item.aspect_heading) if aspect)
    queries = (*_filled(item.question for item in questions), *slots)
    return JudgedData("medquad", queries, texts, names=read_judged_names(data))


def _press(data: Path) -> JudgedData:
    releases = list(press_releases.read_press_releases(data, "test"))
    texts = tuple(Text(release.id, "", "", release.conclusion) for release in releases)
    return JudgedData("press", _filled(release.statement for release in releases), texts, claims=True)


def _notes(data: Path) -> JudgedData:
    notes = (note for note in mtsamples.read_notes(data) if is_test_note(note.id))
    return JudgedData("notes", (), tuple(text for note in notes for text in _note_texts(note)), clinical=True)


def _note_texts(note: mtsamples.TranscribedNote) -> Iterator[Text]:
    """The sections of a note as labelling cuts it, and as the product does."""
    yield from note_sections(note)
    yield from _section_texts(note.id, note.text)


def _section_texts(identifier: str, note: str) -> Iterator[Text]:
    for number, section in enumerate(split_note(note)):
        yield Text(f"{identifier}:{number}", "", section.heading, section.text)


def _evidence(data: Path) -> JudgedData:
    train = evidence_inference.read_train_articles(data)
    texts = (
        abstracts.trial_text(abstract)
        for abstract in evidence_inference.read_abstracts(data)
        if abstract.id not in train
    )
    prompts = (prompt for prompt in evidence_inference.read_prompts(data) if prompt.article not in train)
    return JudgedData("evidence", tuple(map(abstracts.trial_question, prompts)), tuple(texts))


def _mts_dialog(data: Path) -> JudgedData:
    sections = mts_dialog.read_test_sections(data)
    texts = tuple(Text(item.id, "", item.header, item.text) for item in sections)
    return JudgedData("mts-dialog", (), texts, clinical=True)


def _aci_bench(data: Path) -> JudgedData:
    notes = aci_bench.read_test_notes(data)
    texts = tuple(text for note in notes for text in _section_texts(note.id, note.text))
    return JudgedData("aci-bench", (), texts, clinical=True)


def _experts(data: Path) -> JudgedData:
    """Every snippet is a text, and so are all snippets of an abstract: pairs can show either."""
    asked = [item for item in bioasq.read_questions(data) if item.year in TEST_YEARS]
    marked: defaultdict[str, list[bioasq.Snippet]] = defaultdict(list)
    for snippet in (snippet for question in asked for snippet in question.snippets):
        marked[snippet.document].append(snippet)
    texts = [
        Text(name, snippet.text if snippet.section == "title" else "", "", snippet.text)
        for name, snippets in marked.items()
        for snippet in snippets
    ]
    texts += [Text(name, "", "", " ".join(item.text for item in snippets)) for name, snippets in marked.items()]
    return JudgedData("experts", tuple(item.text for item in asked), tuple(texts), claims=True)


def _citations(data: Path) -> JudgedData:
    found = [claim for claim in citation_integrity.read_claims(data, "dev") if claim.evidence]
    articles = {citation_integrity.article_of(name) for claim in found for name in claim.evidence}
    texts = (
        Text(paragraph.id, "", "", paragraph.text)
        for paragraph in citation_integrity.read_paragraphs(data)
        if citation_integrity.article_of(paragraph.id) in articles
    )
    return JudgedData("citations", _filled(claim.text for claim in found), tuple(texts), claims=True)


def _lay(data: Path) -> JudgedData:
    """Summaries, technical texts and the sentences of both: whoever knows the summary knows the answer."""
    summaries = [item for item in lay.read_summaries(data) if is_test_summary(lay.technical_id(item.id))]
    texts = [Text(item.id, item.title, "", item.technical) for item in summaries]
    texts += [Text(item.id, item.lay_title, "", item.lay) for item in summaries]
    for pair in lay.read_sentences(data):
        if is_test_summary(lay.technical_id(pair.id)):
            texts += [Text(pair.id, "", "", pair.technical), Text(pair.id, "", "", pair.lay)]
    return JudgedData("lay", _filled(map(summary_question, summaries)), tuple(texts))


def _answers(data: Path) -> JudgedData:
    asked = list(answer_grades.read_questions(data))
    texts = (Text(answer.id, "", "", answer.text) for question in asked for answer in question.answers)
    return JudgedData("answers", tuple(question.text for question in asked), tuple(texts))


def _forms(data: Path) -> JudgedData:
    """Every abstract that is indexed, whole, and without its conclusion where that is asked for."""
    formed = forms.read_formed_abstracts(data)
    texts = [Text(item.id, item.title, "", item.text) for item in formed]
    texts += [abstracts.abstract_text(item) for item in forms.read_test_abstracts(data)]
    return JudgedData(
        "forms", tuple(query for item in formed for query in item.forms.values()), tuple(texts), claims=True
    )


def _filled(queries: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(None, queries))


_SUITES: Final[Mapping[str, Callable[[Path], JudgedData]]] = {
    scifact.NAME: _scifact,
    check_covid.NAME: _check_covid,
    cystic_fibrosis.NAME: _cystic_fibrosis,
    medquad.NAME: _medquad,
    press_releases.NAME: _press,
    mtsamples.NAME: _notes,
    evidence_inference.NAME: _evidence,
    mts_dialog.NAME: _mts_dialog,
    aci_bench.NAME: _aci_bench,
    bioasq.NAME: _experts,
    citation_integrity.NAME: _citations,
    lay.NAME: _lay,
    answer_grades.NAME: _answers,
    ABSTRACTS: _forms,
}
"""Data set -> what its suite judges. Without `indiana_cxr`: its queries are names of findings, and its folds keep the splits apart."""

_SUITE_DATA: Final[Mapping[str, str]] = {
    "scifact": scifact.NAME,
    "check-covid": check_covid.NAME,
    "cystic-fibrosis": cystic_fibrosis.NAME,
    "medquad": medquad.NAME,
    "press": press_releases.NAME,
    "notes": mtsamples.NAME,
    "evidence": evidence_inference.NAME,
    "citations": citation_integrity.NAME,
    "lay": lay.NAME,
    "answers": answer_grades.NAME,
    "forms": ABSTRACTS,
}
"""Suite of `medley evaluate` -> its data set. Without `experts`: its questions are also those of years that training
sees, so what a model saw of them is asked of the questions themselves."""
