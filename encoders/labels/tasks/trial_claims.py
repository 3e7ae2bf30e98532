"""Claims about what a trial found, one true and one false for each finding, beside the words of its report that say so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from encoders.labels.leaks import normalise
from encoders.labels.pairs import Pair, Text
from encoders.labels.split import bucket, split_of
from mappings.analysis.sentences import sentences
from mappings.datasets import evidence_inference
from mappings.datasets.abstracts import SectionedAbstract
from mappings.datasets.evidence_inference import FINDINGS, Finding, TrialFinding, TrialPrompt
from mappings.stances import Stance

TASK: Final = "stance-trial"
LEAST_WORDS: Final = 8
"""Fewer words of a report ("12 vs. 14, p = .3") say nothing without the table that they are from."""
_CLAIMS: Final[Mapping[Finding, tuple[str, ...]]] = {
    "significantly increased": (
        "{i} increases {o} compared with {c}.",
        "{o} is higher with {i} than with {c}.",
        "Compared with {c}, {i} leads to more {o}.",
    ),
    "significantly decreased": (
        "{i} reduces {o} compared with {c}.",
        "{o} is lower with {i} than with {c}.",
        "Compared with {c}, {i} leads to less {o}.",
    ),
    "no significant difference": (
        "{i} does not change {o} compared with {c}.",
        "There is no difference in {o} between {i} and {c}.",
        "{i} has no effect on {o} when compared with {c}.",
    ),
}


def label_trial_findings(data: Path, dropped: dict[str, int]) -> Iterator[Pair]:
    """The findings of training articles; those that annotators disagree on are left out.

    The text is the report's abstract where the marked words are in it, and the words alone where they are not.
    """
    train = evidence_inference.read_train_articles(data)
    prompts = {prompt.id: prompt for prompt in evidence_inference.read_prompts(data)}
    abstracts = {item.id: item for item in evidence_inference.read_abstracts(data)}
    by_prompt: defaultdict[str, list[TrialFinding]] = defaultdict(list)
    for item in evidence_inference.read_findings(data):
        if item.article in train and item.prompt in prompts:
            by_prompt[item.prompt].append(item)
    for name, found in by_prompt.items():
        if len({item.finding for item in found}) > 1:
            dropped[f"{TASK}: prompts with contradicting findings"] += 1
            continue
        told = [placed for item in found if (placed := _place(item, abstracts.get(item.article)))]
        best = max(told, key=lambda placed: placed[1] is not None, default=None)
        if best:
            yield from _claims(prompts[name], found[0].finding, *best)


def _place(
    item: TrialFinding, abstract: SectionedAbstract | None
) -> tuple[Text, tuple[tuple[int, int], ...] | None] | None:
    wanted = normalise(item.words)
    if abstract and wanted:
        texts = [(one.start, one.end) for one in sentences(abstract.text)]
        marked = tuple(span for span in texts if _overlaps(normalise(abstract.text[slice(*span)]), wanted))
        if wanted in normalise(abstract.text) and marked:
            return Text(f"pmc:{item.article}", abstract.title, "", abstract.text), marked
    if len(item.words.split()) < LEAST_WORDS:
        return None
    return Text(f"pmc:{item.article}:{bucket(item.words, 2**32)}", "", "", item.words), None


def _overlaps(sentence: str, marked: str) -> bool:
    return bool(sentence) and (sentence in marked or marked in sentence)


def _claims(
    prompt: TrialPrompt, finding: Finding, text: Text, evidence: tuple[tuple[int, int], ...] | None
) -> Iterator[Pair]:
    others = [other for other in FINDINGS if other != finding]
    wrong = others[bucket(f"wrong:{prompt.id}", len(others))]
    cases: tuple[tuple[Finding, Stance], ...] = ((finding, "supports"), (wrong, "refutes"))
    values = (prompt.intervention, prompt.comparator, prompt.outcome)
    i, c, o = (value.strip().rstrip(".") for value in values)
    group = f"{TASK}:{prompt.article}"
    for stated, stance in cases:
        forms = _CLAIMS[stated]
        claim = forms[bucket(f"{stated}:{prompt.id}", len(forms))].format(i=i, c=c, o=o)
        claim = claim[:1].upper() + claim[1:]
        name = f"{TASK}:{prompt.id}:{stance}"
        yield Pair(TASK, name, group, split_of(group), TASK, claim, (text.id,), text, stance=stance, evidence=evidence)
