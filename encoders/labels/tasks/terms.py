"""Names: what patients call a thing, or its brand, labelled with its explanation; and terms with theirs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from encoders.labels.leaks import name_key, normalise
from encoders.labels.pairs import Pair, Text
from encoders.labels.split import bucket, link, split_of
from encoders.labels.tasks.health import read_judged_names
from mappings.datasets.lay import LayTerm, TermDefinition, read_definitions, read_terms

DEFINITIONS: Final = "definitions"
NAMES: Final = "names"
"""The corpora: explanations, under their terms, and the names of what has none."""

NAMES_EACH: Final = 3
"""The most lay names of one thing that become pairs: patients have a hundred for pain."""
MAX_WORDS: Final = 8
"""A longer name is a sentence about a patient."""
_GENERAL: Final = frozenset({"prism", "cdc-thesaurus"})
"""Sources of general words ("dangerous", "adverse"), which name no thing."""
_TEASING: Final = "nhs-conditions"


@dataclass(frozen=True, slots=True)
class Names:
    """Explanations and names without one, by the `name_key` of the term; lay names; and the group of each key."""

    definitions: dict[str, list[Text]]
    names: dict[str, Text]
    terms: list[LayTerm]
    groups: dict[str, str]


def read_names(data: Path | None, dropped: dict[str, int]) -> Names:
    """All names and what explains them, without the explanations of judged entities, which are articles on them."""
    definitions = _explain(data, dropped)
    named = list(read_terms(data))
    terms = [item for item in named if _is_name(item)]
    dropped["lay-name: general words, sentences and names with the same words"] += len(named) - len(terms)
    keys = dict.fromkeys(name_key(item.technical) for item in terms)
    first = {name_key(item.technical): item.technical for item in reversed(terms)}
    names = {key: Text(f"name:{key}", "", "", first[key]) for key in keys if key not in definitions}
    groups = link(
        [*((name_key(item.lay), name_key(item.technical)) for item in terms), *((key,) for key in definitions)]
    )
    return Names(definitions, names, terms, groups)


def _explain(data: Path | None, dropped: dict[str, int]) -> dict[str, list[Text]]:
    every = list(read_definitions(data))
    meant = [item for item in every if name_key(item.term) and not _is_teaser(item)]
    judged = read_judged_names(data)
    kept = [item for item in meant if name_key(item.term) not in judged]
    dropped["definition: teasers"] += len(every) - len(meant)
    dropped["definition: terms that are a judged entity, under any of its names"] += len(meant) - len(kept)
    definitions: defaultdict[str, list[Text]] = defaultdict(list)
    for number, item in enumerate(kept):
        definitions[name_key(item.term)].append(Text(f"definition:{number}", item.term, "", item.definition))
    return dict(definitions)


def _is_teaser(item: TermDefinition) -> bool:
    """Whether the text tells to read further ("Find out how …"), and not what the term means."""
    return item.source == _TEASING and not normalise(item.definition).startswith(normalise(item.term))


def _is_name(item: LayTerm) -> bool:
    lay, technical = name_key(item.lay), name_key(item.technical)
    named = bool(lay and technical) and lay != technical
    return item.source not in _GENERAL and named and len(item.lay.split()) <= MAX_WORDS


def definition_texts(found: Names) -> list[Text]:
    """The explanations, with the term as title."""
    return [text for texts in found.definitions.values() for text in texts]


def label_definitions(found: Names) -> Iterator[Pair]:
    """Term -> its explanation without the term as title."""
    for key, texts in found.definitions.items():
        relevant = tuple(text.id for text in texts)
        for text in texts:
            shown = Text(text.id, "", "", text.text)
            group = f"term:{found.groups[key]}"
            yield Pair(
                "definition", f"term:{text.id}", group, split_of(group), DEFINITIONS, text.title, relevant, shown
            )


def label_lay_names(found: Names) -> Iterator[Pair]:
    """Lay or brand name -> the explanation of what it names or, without one, its name; some names of each, by a hash."""
    answers: defaultdict[str, dict[str, None]] = defaultdict(dict)
    by_term: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for item in found.terms:
        lay, term = name_key(item.lay), name_key(item.technical)
        answers[lay] |= dict.fromkeys(text.id for text in _answers(found, term))
        by_term[term].setdefault(lay, item.lay)
    for term, named in by_term.items():
        text = _answers(found, term)[0]
        corpus = DEFINITIONS if term in found.definitions else NAMES
        for lay in sorted(named, key=lambda name: bucket(f"lay-name:{term}:{name}", 2**32))[:NAMES_EACH]:
            own = (other.id for other in found.definitions.get(lay, ()))
            relevant = tuple(dict.fromkeys([*answers[lay], *own]))
            group = f"term:{found.groups[term]}"
            name = f"lay-name:{term}:{lay}"
            yield Pair("lay-name", name, group, split_of(group), corpus, named[lay], relevant, text)


def _answers(found: Names, term: str) -> list[Text]:
    return found.definitions.get(term) or [found.names[term]]


def name_texts(found: Names) -> Iterable[Text]:
    """The names of what has no explanation."""
    return found.names.values()
