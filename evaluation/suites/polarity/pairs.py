"""Pairs of texts that differ only in polarity: invented ones, and sentences of reports with their polarity turned by program.

Invented pairs are in `evaluation/sentences/polarity/*.tsv` (columns: finding, text with it, text without it).
A sentence of a report is turned where its shape alone says how: "There is a small effusion" becomes "There is no small
effusion", "No fracture is seen" becomes "Fracture is seen". Every second one keeps its neighbors in the report.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from encoders.labels.leaks import normalise
from mappings.analysis.lexicon import rows_of
from mappings.analysis.mentions.findings import findings
from mappings.analysis.sentences import sentences
from mappings.datasets.indiana_cxr import ChestReport
from mappings.errors import InvalidInput, NotFound

FOLDER: Final = Path(__file__).parents[2] / "sentences" / "polarity"
INVENTED, REPORTS = "invented", "reports"
NUMBER: Final = 200
"""Pairs made from reports: half of sentences that affirm a finding, half of sentences that rule one out."""
PER_FINDING: Final = 8
"""At most this many pairs of one finding in each half."""
MAX_WORDS: Final = 14
CONTEXT_WORDS: Final = 40
"""Words of the report kept around a sentence."""

_COLUMNS: Final = 3
_SPARED: Final = re.compile(
    r"[,;:?()/]|\d\.|\bxxxx\b|\b(?:and|or|nor|but|with|without|which|that|than|if|may|might|could|possibl[ey]|probabl[ey]|likely|"
    r"suspected|suggest\w*|suspicious|question\w*|versus|vs|exclude\w*|rule\w*|unchanged|stable|resol\w+|clear\w*|normal|"
    r"unremarkable|limits|remain\w*|improv\w+|decreas\w+|remov\w+|prior|previous\w*|old|other|longer|except|limited|change|size|midline|after|due)\b",
    re.I,
)
_NOT: Final = re.compile(r"\b(?:no|not|never|none|negative|absen\w+|free (?:of|from)|denies)\b", re.I)
_BE: Final = r"(?P<be>is|are|was|were)"
_SEEN: Final = r"(?P<seen>(?:present|seen|noted|identified|demonstrated|visualized|evident)\b.*)"
_THERE: Final = re.compile(rf"(?P<there>there {_BE}(?: again| also)?) (?:an? )?(?!no\b|not\b)(?P<rest>.+)", re.I)
_THERE_NO: Final = re.compile(rf"(?P<there>there {_BE}) no (?P<rest>.+)", re.I)
_IS_SEEN: Final = re.compile(rf"(?P<what>.+?) {_BE} (?:again |also )?(?!not\b){_SEEN}", re.I)
_IS_NOT_SEEN: Final = re.compile(rf"(?P<what>.+?) {_BE} not {_SEEN}", re.I)
_NO: Final = re.compile(r"no (?P<rest>.+)", re.I)
_NEGATIVE: Final = re.compile(r"negative for (?P<rest>.+)", re.I)
_VERB: Final = re.compile(r"\b(?:is|are|was|were|has|have|had|appears?|shows?|demonstrates?|there)\b", re.I)


class PolarityPair(NamedTuple):
    """Two texts: in one the patient has `finding`, in the other not. `origin` is `INVENTED` or `REPORTS`."""

    origin: str
    finding: str
    present: str
    absent: str


def load_invented(folder: Path = FOLDER) -> list[PolarityPair]:
    """The invented pairs. Raises `NotFound` if there are none, `InvalidInput` with file and line for a malformed one."""
    found = [_invented(path, number, row) for path in sorted(folder.glob("*.tsv")) for number, row in rows_of(path)]
    if not found:
        raise NotFound(f"there are no pairs in {folder}: it has no file *.tsv with rows", field="folder")
    return found


def _invented(path: Path, number: int, row: Sequence[str]) -> PolarityPair:
    if len(row) != _COLUMNS or not all(row) or row[1] == row[2]:
        raise InvalidInput(
            f"{path.name}:{number}: a row has 3 columns, none empty (finding, text with it, another text without it)",
            field="row",
        )
    return PolarityPair(INVENTED, *row)


def turn_reports(reports: Iterable[ChestReport], number: int = NUMBER) -> list[PolarityPair]:
    """`number` pairs of reports' sentences, the same for the same reports; fewer if not enough sentences have such a shape."""
    found: dict[str, tuple[bool, PolarityPair]] = {}
    for report in reports:
        for text in (report.findings, report.impression):
            found |= {key: item for key, item in _turned(text) if key not in found}
    ordered = [found[key] for key in sorted(found, key=lambda key: sha256(key.encode()).digest())]
    chosen: list[PolarityPair] = []
    for affirmed in (True, False):
        chosen += _varied([pair for side, pair in ordered if side == affirmed])[: number // 2]
    return chosen


def _varied(pairs: Sequence[PolarityPair]) -> list[PolarityPair]:
    counts: Counter[str] = Counter()
    kept = []
    for pair in pairs:
        counts[pair.finding] += 1
        if counts[pair.finding] <= PER_FINDING:
            kept.append(pair)
    return kept


def _turned(text: str) -> Iterator[tuple[str, tuple[bool, PolarityPair]]]:
    """Normalised sentence -> whether it affirms its finding, and its pair, for the sentences of a text that can be turned."""
    spans = [text[item.start : item.end].strip() for item in sentences(text)]
    for place, sentence in enumerate(spans):
        opposite = turn(sentence)
        named = {item.name for item in findings(sentence)} if opposite else set()
        if opposite is None or len(named) != 1:
            continue
        (finding,) = named
        key = normalise(sentence)
        around = _neighbors(spans, place, finding) if sha256(key.encode()).digest()[0] % 2 else ("", "")
        one, other = (" ".join(filter(None, (around[0], item, around[1]))) for item in (sentence, opposite))
        affirmed = not _NOT.search(sentence)
        present, absent = (one, other) if affirmed else (other, one)
        yield key, (affirmed, PolarityPair(REPORTS, finding, present, absent))


def turn(sentence: str) -> str | None:
    """The sentence with the opposite polarity, or None where its shape does not say how to turn it.

    >>> turn("There is a small pleural effusion.")
    'There is no small pleural effusion.'
    """
    plain = sentence.rstrip(" .")
    if not plain or len(plain.split()) > MAX_WORDS or _SPARED.search(plain) or len(_NOT.findall(plain)) > 1:
        return None
    turned = _affirmed(plain) if _NOT.search(plain) else _ruled_out(plain)
    return f"{turned[0].upper()}{turned[1:]}." if turned else None


def _affirmed(plain: str) -> str:
    if match := _THERE_NO.fullmatch(plain):
        return f"{match['there']} {match['rest']}"
    if match := _IS_NOT_SEEN.fullmatch(plain):
        return f"{match['what']} {match['be']} {match['seen']}"
    if match := _NEGATIVE.fullmatch(plain):
        return f"positive for {match['rest']}"
    match = _NO.fullmatch(plain)
    return match["rest"] if match else ""


def _ruled_out(plain: str) -> str:
    if match := _THERE.fullmatch(plain):
        return f"{match['there']} no {match['rest']}"
    if match := _IS_SEEN.fullmatch(plain):
        return f"{match['what']} {match['be']} not {match['seen']}"
    return "" if _VERB.search(plain) else f"no {plain[0].lower()}{plain[1:]}"


def _neighbors(spans: Sequence[str], place: int, finding: str) -> tuple[str, str]:
    """The sentences before and after, where they do not name the finding and are not too long."""

    def kept(index: int) -> str:
        text = spans[index] if 0 <= index < len(spans) else ""
        silent = all(item.name != finding for item in findings(text))
        return text if silent and len(text.split()) <= CONTEXT_WORDS // 2 else ""

    return kept(place - 1), kept(place + 1)
