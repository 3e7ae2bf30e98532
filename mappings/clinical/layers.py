"""The cues of a sentence, told apart by what they are about: what is so, what was so, whom it is about, what is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from mappings.analysis.mentions.cues import SILENT, Cue
from mappings.analysis.mentions.negation import Scope
from mappings.clinical.cue_rules import assertion_cues
from mappings.clinical.scopes import PAST, clause_scopes, cue_scopes
from mappings.clinical.time_patterns import PLANNED, TAKEN

_KEPT: Final = 4096
_KEPT_NAMES: Final = 20_000
_DONE: Final = (PLANNED, TAKEN)
_LAYERED: Final = (*PAST, *_DONE, "family")
_UNHIDDEN: Final = ("before", "skip", "keep")


class Layers(NamedTuple):
    """The scopes of a sentence: of what is so, what was so, whom it is about, and what is planned or was taken."""

    state: tuple[Scope, ...]
    past: tuple[Scope, ...]
    kin: tuple[Scope, ...]
    done: tuple[Scope, ...]


NO_LAYERS: Final = Layers((), (), (), ())


def layers_for(sentence: str, start: int, end: int) -> Layers:
    """The layers of a sentence for its mention `start:end`, whose name can contain cues."""
    return _layers(_hidden(sentence, start, end)) if _cues(sentence) else NO_LAYERS


def _hidden(sentence: str, start: int, end: int) -> str:
    """`sentence`; a mention whose name contains cues ("influenza vaccine", "graft versus host disease") is hidden."""
    across = (cue for cue in _cues(sentence) if cue.start < end and start < cue.end)
    if not _has_cue(sentence[start:end]) and all(cue.kind in _UNHIDDEN and cue.says != "family" for cue in across):
        return sentence
    return sentence[:start] + "x" * (end - start) + sentence[end:]


@lru_cache(_KEPT)
def _cues(text: str) -> tuple[Cue, ...]:
    return tuple(assertion_cues().find_stating(text))


@lru_cache(_KEPT_NAMES)
def _has_cue(name: str) -> bool:
    return any(cue.kind not in _UNHIDDEN for cue in assertion_cues().find(name))


@lru_cache(_KEPT)
def _layers(sentence: str) -> Layers:
    found = [cue for cue in _cues(sentence) if cue.kind not in ("keep", "skip")]
    if all(cue.kind in SILENT for cue in found):
        return NO_LAYERS
    plain = [cue for cue in found if cue.kind != "family-end"]
    said = {cue.says for cue in plain}

    def layer(*says: str) -> tuple[Scope, ...]:
        if said.isdisjoint(says):
            return ()
        chosen = [cue for cue in plain if cue.says in says or cue.says not in _LAYERED]
        return tuple(cue_scopes(sentence, chosen, found, says))

    return Layers(
        tuple(cue_scopes(sentence, [cue for cue in plain if cue.says not in _LAYERED], found)),
        layer(*PAST),
        layer("family"),
        (*layer(*_DONE), *(scope for cue in plain if _is_condition(cue) for scope in _orders(sentence, cue, found))),
    )


def _is_condition(cue: Cue) -> bool:
    return cue.says == "hypothetical" and cue.kind == "clause-before"


def _orders(sentence: str, cue: Cue, found: Sequence[Cue]) -> Iterator[Scope]:
    """What is done under a condition: "repeat the scan if the pain returns"."""
    yield from clause_scopes(sentence, cue._replace(says=PLANNED), "after", found)
