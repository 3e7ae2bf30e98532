"""Abstracts label themselves: a title, a conclusion, a research question or a trial's question finds its abstract."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from encoders.labels.claims import cited_in_development
from encoders.labels.leaks import Twins, normalise
from encoders.labels.pairs import Pair, Text
from encoders.labels.records import Record, records
from encoders.labels.split import bucket, split_of
from mappings.analysis.sentences import sentences

_CONCLUSIONS = ("conclusion", "interpretation", "outcome")
_ANNOUNCED = re.compile(
    r"^(?:(?:in (?:conclusion|summary|sum)|taken together|overall|thus|therefore|together|collectively|conclusions?)\b[,:]?\s*)?"
    r"(?:(?:we|(?:these|our|the|this|present)(?: \w+){0,2}?"
    r" (?:results?|findings?|data|stud(?:y|ies)|observations?|evidence|analys[ei]s|work))"
    r" (?:conclude|propose|provide evidence|identif(?:y|ies)|(?:suggest|indicate|show|demonstrate|support|implicate|"
    r"reveal|establish|find)s?|concluded|proposed|provide[sd] evidence|identified|suggested|indicated|showed|shown|"
    r"demonstrated|supported|implicated|revealed|established|found)\b(?: that\b)?,?\s*)?",
    re.IGNORECASE,
)
"""How a last sentence says that it concludes: "Taken together, our data suggest that ..."."""


def guarded_titles(data: Path) -> frozenset[str]:
    """Normalised titles of the abstracts that evaluation judges: training makes no title pair of those."""
    cited = cited_in_development(data)
    scifact = (r["title"] for r in records(data, "scifact/corpus.jsonl.gz") if str(r["doc_id"]) in cited)
    whole = (
        r["title"] for name in ("check_covid", "cystic_fibrosis") for r in records(data, f"{name}/corpus.jsonl.gz")
    )
    train = train_articles(data)
    trials = (
        r["title"] for r in records(data, "evidence_inference/abstracts.jsonl.gz") if str(r["pmcid"]) not in train
    )
    return frozenset(map(normalise, (*scifact, *whole, *trials)))


def train_articles(data: Path) -> frozenset[str]:
    """The ids of the trial reports that training may see."""
    return frozenset((data / "evidence_inference/train_article_ids.txt").read_text().split())


def pool_text(record: Record) -> Text:
    """A record of the abstracts pool as a passage."""
    return Text(record["doc_id"], record["title"], "", " ".join(section["text"] for section in record["sections"]))


def pool(data: Path, dropped: dict[str, int]) -> list[Record]:
    """The abstracts without the twins of evaluated ones, by title, and without those that a press test quotes."""
    titles = guarded_titles(data)
    quoted = Twins(
        (r["abstract_conclusion"] for r in records(data, "press_releases/insciout_test.jsonl.gz")), 4, 0.7, True
    )
    kept = []
    for record in records(data, "abstracts/abstracts.jsonl.gz"):
        if normalise(record["title"]) in titles:
            dropped["abstracts whose title is evaluated"] += 1
        elif pool_text(record).text in quoted:
            dropped["abstracts that a press test pair quotes"] += 1
        elif record["title"] and len(pool_text(record).text) >= 200:
            kept.append(record)
    return kept


def titles(found: list[Record], one_in: int) -> Iterator[Pair]:
    """Title -> abstract without its title, for one record in `one_in`."""
    for record in found:
        text = pool_text(record)
        if bucket(f"title:{text.id}", one_in) == 0 and len(text.title.split()) >= 5:
            shown = Text(text.id, "", "", text.text)
            yield Pair(
                "title", f"title:{text.id}", text.id, split_of(text.id), "abstracts", text.title, (text.id,), shown
            )


def findings(records_: Iterable[Record]) -> dict[str, tuple[str, Text]]:
    """What abstracts conclude, by id: the finding as a claim would put it, and title and text without its sentence.

    A finding is the first sentence of a labelled conclusion, or a last sentence that is announced ("these results
    suggest that ..."); the announcement is left out.
    """
    found = {}
    for record in records_:
        sections = record["sections"]
        labelled = len(sections) > 2 and sections[-1]["label"].lower().startswith(_CONCLUSIONS)
        parts = _sentences(sections[-1]["text"])
        said = parts[0] if labelled else parts[-1]
        claim = _ANNOUNCED.sub("", said, count=1).strip().rstrip(".")
        rest = [section["text"] for section in sections[:-1]] + ([] if labelled else [" ".join(parts[:-1])])
        body = " ".join(filter(None, rest))
        if (labelled or claim != said.strip().rstrip(".")) and 6 <= len(claim.split()) <= 40 and len(body) >= 200:
            name = record["doc_id"]
            found[name] = claim[0].upper() + claim[1:], Text(name, record["title"], "", body)
    return found


def conclusions(found: Mapping[str, tuple[str, Text]], one_in: int) -> Iterator[Pair]:
    """Finding -> its abstract without it. All candidates lack theirs, so that this gives nothing away."""
    for name, (claim, text) in found.items():
        if bucket(f"conclusion:{name}", one_in) == 0:
            yield Pair("conclusion", f"conclusion:{name}", name, split_of(name), "findings", claim, (name,), text)


def _sentences(text: str) -> list[str]:
    return [text[item.start : item.end] for item in sentences(text)] or [text]


def pubmedqa(data: Path, kept: Mapping[str, str]) -> Iterator[Pair]:
    """Research questions -> their abstract without the conclusion that answers them.

    `kept` maps the normalised titles of the pool to ids: the question is the title of its abstract there, which is
    then a known answer too, never a negative.
    """
    for record in records(data, "pubmedqa/questions.jsonl.gz"):
        question = record["QUESTION"]
        if twin := kept.get(normalise(question)):
            name = f"pubmedqa:{record['id']}"
            text = Text(name, "", "", " ".join(record["CONTEXTS"]))
            yield Pair("pubmedqa", name, name, split_of(name), "abstracts", question, (name, twin), text)


def trials(data: Path, dropped: dict[str, int]) -> Iterator[Pair]:
    """Intervention, comparator and outcome, as a question -> the trial's abstract: two prompts an article."""
    train, guarded = train_articles(data), guarded_titles(data)
    found = {str(record["pmcid"]): record for record in records(data, "evidence_inference/abstracts.jsonl.gz")}
    taken: dict[str, int] = {}
    for prompt in records(data, "evidence_inference/prompts.jsonl.gz"):
        article = str(prompt["PMCID"])
        if article not in train or article not in found or taken.get(article, 0) == 2:
            continue
        text = trial_text(found[article])
        if normalise(text.title) in guarded or len(text.text) < 200:
            dropped["trial prompts whose abstract is evaluated or empty"] += 1
            continue
        taken[article] = taken.get(article, 0) + 1
        name = f"trial:{prompt['PromptID']}"
        yield Pair("trial", name, text.id, split_of(text.id), "abstracts", trial_question(prompt), (text.id,), text)


def trial_text(record: Record) -> Text:
    """A trial report's abstract as a passage."""
    body = " ".join(section["text"] for section in record["abstract_sections"])
    return Text(f"pmc:{record['pmcid']}", record["title"], "", body)


def trial_question(prompt: Record) -> str:
    """One of four phrasings, by the prompt's id."""
    drug, other, outcome = (prompt[name].strip().rstrip(".") for name in ("Intervention", "Comparator", "Outcome"))
    return (
        f"What is the effect of {drug} compared with {other} on {outcome}?",
        f"Does {drug} change {outcome} compared with {other}?",
        f"{drug} versus {other}: {outcome}",
        f"{drug} reduces or improves {outcome}",
    )[bucket(str(prompt["PromptID"]), 4)]
