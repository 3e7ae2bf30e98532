"""Term bundles: how a finding names one, and what its terms name."""

from __future__ import annotations

import pytest

from mappings.bundles import TermBundle, bundle_reference
from mappings.clinical.concepts import shipped_concepts
from mappings.errors import InvalidInput

LEXICON = shipped_concepts()


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("bundle:anticoagulants", "anticoagulants"),
        ("bundle: blood thinners ", "blood thinners"),
        ("bundle:", ""),
        ("bundles:x", ""),
        ("left bundle: block", ""),
    ],
)
def test_a_finding_names_a_bundle(text, reference):
    assert bundle_reference(text) == reference


def test_terms_are_concepts_each_once_by_names_and_ids():
    bundle = TermBundle("1", "thinners", ("Warfarin", "warfarin", "Coumadin", "apixaban"))
    assert bundle.understood(LEXICON) == TermBundle("1", "thinners", bundle.terms, ("warfarin", "apixaban"))


@pytest.mark.parametrize(
    ("term", "message"),
    [
        ("apixabann", r"the term 'apixabann' of the bundle 'thinners' names no concept .*; did you mean apixaban"),
        ("qqqq", r"the term 'qqqq' of the bundle 'thinners' names no concept .*; change or remove it"),
    ],
)
def test_a_term_without_a_concept_is_named(term, message):
    with pytest.raises(InvalidInput, match=message):
        TermBundle("1", "thinners", ("warfarin", term)).understood(LEXICON)
