"""Term bundles: named lists of terms, of which a criterion asks for any."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final

from mappings.clinical.concepts import ClinicalConcept, ConceptLexicon
from mappings.errors import InvalidInput, NotFound

BUNDLE: Final = "bundle:"
"""What stands before the name or the id of a bundle where a finding is expected."""

MOST_TERMS: Final = 100
"""Most terms of a bundle that a criterion asks for: a search has a clause for each thing that proves one."""

_SUGGESTIONS: Final = 3


@dataclass(frozen=True, slots=True)
class TermBundle:
    """A list of terms that a user keeps under a name.

    `concepts` are the ids of what the terms name, each once; there are none before `understood` has looked them up.
    """

    id: str
    name: str
    terms: tuple[str, ...]
    concepts: tuple[str, ...] = ()

    def understood(self, lexicon: ConceptLexicon) -> TermBundle:
        """This bundle with its concepts. Raises `InvalidInput` for a term that names none: it suggests the nearest names."""
        return replace(self, concepts=tuple(dict.fromkeys(self._concept(term, lexicon).id for term in self.terms)))

    def _concept(self, term: str, lexicon: ConceptLexicon) -> ClinicalConcept:
        found = concept_named(term, lexicon)
        if found is None:
            near = nearest_names(term, lexicon)
            hint = f"did you mean {', '.join(near)}?" if near else "change or remove it"
            raise InvalidInput(
                f"the term {term[:80]!r} of the bundle {self.name[:80]!r} names no concept of the lexicon; {hint}",
                field="bundle",
            )
        return found


def bundle_reference(text: str) -> str:
    """`anticoagulants` of `bundle:anticoagulants`; "" of what names no bundle."""
    return text.removeprefix(BUNDLE).strip() if text.startswith(BUNDLE) else ""


def concept_named(name: str, lexicon: ConceptLexicon) -> ClinicalConcept | None:
    """The concept with that id or name; None for none."""
    try:
        return lexicon.get(name)
    except NotFound:
        return lexicon.named(name)


def nearest_names(name: str, lexicon: ConceptLexicon) -> list[str]:
    """The names of the lexicon that are spelt most like `name`, best first, of different concepts; at most three."""
    names = {own.lower(): item for item in lexicon for own in item.names}
    found = get_close_matches(name.lower(), names, n=4 * _SUGGESTIONS, cutoff=0.7)
    first = {names[text].id: text for text in reversed(found)}
    return [text for text in found if first[names[text].id] == text][:_SUGGESTIONS]
