"""The content of dossiers: what is accepted, what is refused with which field, and what each change writes."""

import copy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.documents import Access
from mappings.dossiers import changes
from mappings.dossiers.changes import ClaimRating
from mappings.dossiers.dossier import ChosenEvidence, Dossier, Stamp
from mappings.dossiers.parse import check_claim, check_source, parse_dossier
from mappings.dossiers.withholding import content_for
from mappings.errors import Conflict, InvalidInput, NotFound

STAMP = Stamp("2026-03-01T09:30:00+00:00", "ada")
EVIDENCE = {
    "number": 1,
    "collection": "abstracts",
    "document": "pm/2",
    "passage": "pm/2@1#0",
    "title": "Aspirin",
    "quote": "Aspirin reduced stroke.",
    "marks": ["0-23"],
    "labels": ["desk", "public"],
    "stance": "supports",
    "probability": 0.93,
    "note": "Small.",
    "added": "2026-03-01T09:30:00+00:00",
    "citation": {"authors": ["Otter, A"], "journal": "Brain", "year": "2018", "doi": "10.1/x", "pmid": "7"},
}
CLAIM = {
    "number": 1,
    "text": "Aspirin prevents strokes",
    "verdict": "mostly true",
    "notes": "Two\nlines",
    "source": "https://news.example/1",
    "evidence": [EVIDENCE],
}
WHOLE = {"claims": [CLAIM], "history": [{"at": STAMP.at, "by": "ada", "what": "created the dossier"}]}


def changed(path, value):
    """The whole content with another value at a path such as `claims.0.verdict`."""
    content = copy.deepcopy(WHOLE)
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place = content
    for part in parents:
        place = place[part]
    place[last] = value
    return content


def test_a_dossier_is_written_as_it_was_read():
    assert parse_dossier(WHOLE).as_json() == WHOLE
    assert parse_dossier({}).as_json() == {"claims": [], "history": []}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("claims", {}),
        ("claims", [CLAIM, CLAIM]),
        ("claims", [CLAIM | {"number": at} for at in range(1, 102)]),
        ("claims.0", "text"),
        ("claims.0.number", 0),
        ("claims.0.number", True),
        ("claims.0.number", "1"),
        ("claims.0.text", ""),
        ("claims.0.text", 7),
        ("claims.0.text", "c" * 10_000),
        ("claims.0.verdict", "rather true"),
        ("claims.0.verdict", None),
        ("claims.0.verdict", []),
        ("claims.0.notes", "n" * 10_001),
        ("claims.0.notes", "\0"),
        ("claims.0.source", "javascript:alert(1)"),
        ("claims.0.evidence", [EVIDENCE, EVIDENCE]),
        ("claims.0.evidence.0.quote", " "),
        ("claims.0.evidence.0.document", ""),
        ("claims.0.evidence.0.marks.0", "all"),
        ("claims.0.evidence.0.labels", "public"),
        ("claims.0.evidence.0.labels.0", 7),
        ("claims.0.evidence.0.stance", "agrees"),
        ("claims.0.evidence.0.probability", 1.2),
        ("claims.0.evidence.0.probability", True),
        ("claims.0.evidence.0.probability", "much"),
        ("claims.0.evidence.0.added", "yesterday"),
        ("claims.0.evidence.0.invented", "yes"),
        ("claims.0.evidence.0.citation", []),
        ("claims.0.evidence.0.citation.authors", ["A"] * 51),
        ("claims.0.evidence.0.citation.publisher", "X"),
        ("history.0.what", ""),
        ("history", [WHOLE["history"][0]] * 201),
        ("further", 1),
    ],
)
def test_what_is_not_a_dossier_is_refused_with_its_field(path, value):
    with pytest.raises(InvalidInput) as refused:
        parse_dossier(changed(path, value))
    assert refused.value.field == f"content.{path}"


@pytest.mark.parametrize("content", [[], "text", None])
def test_a_dossier_is_an_object(content):
    with pytest.raises(InvalidInput, match="must be a JSON object"):
        parse_dossier(content)


def test_a_claim_is_one_line_of_any_script():
    assert check_claim(" Aspirin\r\n prevents\0strokes ") == "Aspirin prevents strokes"
    assert check_claim("阿司匹林" * 500) == "阿司匹林" * 500
    with pytest.raises(InvalidInput, match="at most 2,000 characters, and this has 2,001"):
        check_claim("ع" * 2_001)


@pytest.mark.parametrize(
    "address", ["ftp://x.example", "https://", "//x.example", "https://x.example/a b", "https://[x"]
)
def test_a_source_is_an_address_of_the_web(address):
    with pytest.raises(InvalidInput):
        check_source(address)


def test_changes_are_written_into_the_history():
    chosen = parse_dossier(WHOLE).claims[0].evidence[0]
    dossier = changes.with_claim(changes.begun(STAMP), "Coffee cures gout", STAMP)
    dossier = changes.with_evidence(dossier, 1, chosen, STAMP)
    dossier = changes.with_note(dossier, 1, 1, "Weak.", STAMP)
    dossier = changes.with_rating(dossier, 1, ClaimRating("false", "No.", ""), STAMP)
    assert dossier.as_json() == {
        "claims": [
            {
                "number": 1,
                "text": "Coffee cures gout",
                "verdict": "false",
                "notes": "No.",
                "evidence": [EVIDENCE | {"note": "Weak."}],
            }
        ],
        "history": [
            {"at": STAMP.at, "by": "ada", "what": what}
            for what in (
                "created the dossier",
                "added the claim “Coffee cures gout”",
                "added evidence 1 to “Coffee cures gout”",
                "changed the note on evidence 1 of “Coffee cures gout”",
                "changed the verdict on “Coffee cures gout” from unrated to false",
                "changed the notes on “Coffee cures gout”",
            )
        ],
    }
    assert changes.with_rating(dossier, 1, ClaimRating("false", "No.", ""), STAMP) is not dossier
    assert changes.with_rating(dossier, 1, ClaimRating("false", "No.", ""), STAMP) == dossier
    assert changes.without_evidence(dossier, 1, 1, STAMP).claims[0].evidence == ()
    assert changes.without_claim(dossier, 1, STAMP).claims == ()


def test_a_number_stays_what_it_named():
    chosen = ChosenEvidence(1, "abstracts", "a", quote="a")
    dossier = changes.with_claim(Dossier(), "One", STAMP)
    for name in "abc":
        dossier = changes.with_evidence(dossier, 1, replace(chosen, document=name), STAMP)
    dossier = changes.without_evidence(dossier, 1, 1, STAMP)
    dossier = changes.with_evidence(dossier, 1, replace(chosen, document="d"), STAMP)
    assert [(item.number, item.document) for item in dossier.claims[0].evidence] == [(2, "b"), (3, "c"), (4, "d")]


def test_what_is_there_already_and_what_is_not_there():
    dossier = parse_dossier(WHOLE)
    with pytest.raises(Conflict, match="in the dossier already"):
        changes.with_claim(dossier, "aspirin  PREVENTS strokes", STAMP)
    with pytest.raises(Conflict, match="evidence for the claim already"):
        changes.with_evidence(dossier, 1, dossier.claims[0].evidence[0], STAMP)
    for change in (changes.without_claim, lambda it, at, stamp: changes.without_evidence(it, 1, at, stamp)):
        with pytest.raises(NotFound):
            change(dossier, 9, STAMP)


def test_the_history_keeps_the_newest_changes():
    dossier = Dossier()
    for at in range(250):
        dossier = changes.renamed(dossier, f"name {at}", f"name {at + 1}", STAMP)
    assert len(dossier.history) == 200
    assert dossier.history[-1].what == "renamed the dossier from “name 249” to “name 250”"
    assert changes.renamed(dossier, "same", "same", STAMP) is dossier
    parse_dossier(dossier.as_json())


def test_history_gives_way_to_evidence_and_a_full_dossier_says_so():
    dossier = parse_dossier(WHOLE)
    for at in range(100):
        dossier = changes.renamed(dossier, f"name {at}", f"name {at + 1}", STAMP)
    fitted = changes.fitted(dossier, 6_000)
    assert changes.size_of(fitted) <= 6_000 < changes.size_of(dossier)
    assert 20 < len(fitted.history) < 101
    assert (fitted.claims, fitted.history[-1]) == (dossier.claims, dossier.history[-1])
    assert changes.fitted(fitted, 6_000) == fitted
    with pytest.raises(Conflict, match=r"the dossier is full: it would have .* at most 1,000 are kept"):
        changes.fitted(dossier, 1_000)


@pytest.mark.parametrize(
    ("labels", "collections", "shown"),
    [
        ({"public"}, None, ["public"]),
        ({"*"}, None, ["desk", "public"]),
        ({"public"}, frozenset({"abstracts"}), ["public"]),
        ({"public"}, frozenset({"articles"}), None),
        ({"other"}, None, None),
        (set(), None, None),
    ],
)
def test_readers_see_no_more_of_evidence_than_of_documents(labels, collections, shown):
    (claim,) = content_for(WHOLE, Access("bob", frozenset(labels)), collections)["claims"]
    evidence = {"number": 1, "withheld": True} if shown is None else EVIDENCE | {"labels": shown}
    assert claim == CLAIM | {"evidence": [evidence]}
    assert parse_dossier({"claims": [claim]}).as_json()["claims"] == [claim]


def test_evidence_without_labels_is_for_its_owner_only():
    content = changed("claims.0.evidence.0.labels", [])
    (claim,) = content_for(content, Access("bob", frozenset({"public"})), None)["claims"]
    assert claim["evidence"] == [{"number": 1, "withheld": True}]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
PLACES = ("claims", "history", "claims.0", "history.0", "claims.0.evidence.0", "claims.0.evidence.0.citation")
FIELDS = [f"claims.0.{name}" for name in CLAIM] + [f"claims.0.evidence.0.{name}" for name in EVIDENCE]


@given(st.sampled_from([*PLACES, *FIELDS]), JSON)
def test_any_json_is_a_dossier_that_reads_back_or_invalid_input(path, value):
    where = ""
    try:
        dossier = parse_dossier(changed(path, value))
    except InvalidInput as error:
        where = error.field
    assert where.startswith(f"content.{path}") or parse_dossier(dossier.as_json()) == dossier
