"""What a document's page marks and lists of the concepts that the document mentions."""

from browsing import get
from hypothesis import given
from hypothesis import strategies as st

from mappings.clinical.reading import shipped_reader
from mappings.documents import Section
from web.pages.findings import FindingMark, finding_pieces, findings_of

NOTE = "/document?collection=notes&id=p1/n1"
READER = shipped_reader()


def finding(start, end, anchor="m-1"):
    return FindingMark("fever", "fever", "present", "present", 0, start, end, anchor)


def marked(page):
    return [(attrs["class"], attrs["id"]) for attrs in page.all("span") if attrs.get("id", "").startswith("m-")]


def test_each_mention_is_marked_by_what_the_document_asserts(client):
    page = get(client, NOTE)
    assert marked(page) == [("finding says-present", "m-1"), ("finding says-ruled-out", "m-2")]
    assert "No effusion (ruled out) ." in page.text.replace("(ruled out).", "(ruled out) .")
    assert "present 1 lower lobe pneumonia" in page.text
    assert "ruled out 1 effusion" in page.text
    assert {"#m-1", "#m-2"} <= set(page.links("#"))


def test_the_marks_go_without_a_script_and_the_list_stays(client):
    (switch,) = get(client, NOTE).links("/document?")
    assert switch == "/document?collection=notes&id=p1%2Fn1&findings=off"
    page = get(client, switch)
    assert marked(page) == []
    assert "ruled out 1 effusion" in page.text
    assert page.links("/document?") == ["/document?collection=notes&id=p1%2Fn1"]


def test_findings_stand_inside_the_evidence(client):
    page = get(client, f"{NOTE}&passage=p1%2Fn1%401%230&mark=0-39")
    assert marked(page) == [("finding says-present", "m-1"), ("finding says-ruled-out", "m-2")]
    assert page.all("mark")[0] == {"id": "evidence"}


def test_a_publication_has_no_list(client):
    assert "What this document says" not in get(client, "/document?collection=abstracts&id=pm/1").text


def test_the_anchors_count_the_mentions_of_all_sections():
    sections = (Section("HISTORY", "Prior stroke."), Section("FINDINGS", "No fever. Pneumonia."))
    found = findings_of(READER.read(sections).mentions, READER.lexicon)
    assert [(item.anchor, item.name, item.says, item.section) for item in found] == [
        ("m-1", "stroke", "in the past", 0),
        ("m-2", "fever", "ruled out", 1),
        ("m-3", "pneumonia", "present", 1),
    ]


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 8)), max_size=6),
    st.integers(0, 30),
    st.text("ab ", min_size=30, max_size=40),
)
def test_pieces_are_the_text_whatever_overlaps_or_is_cut(spans, cut, text):
    findings = [finding(start, start + length) for start, length in sorted(spans)]
    left, right = finding_pieces(text, 0, cut, findings), finding_pieces(text, cut, len(text), findings)
    assert "".join(piece for piece, _ in (*left, *right)) == text
    assert all(piece == text[item.start : item.end] for piece, item in left if item and item.end <= cut)


def test_a_finding_that_is_cut_in_two_has_one_anchor():
    halves = finding_pieces("high fever", 0, 7, [finding(5, 10)]) + finding_pieces(
        "high fever", 7, 10, [finding(5, 10)]
    )
    assert [(text, item and item.anchor) for text, item in halves] == [("high ", None), ("fe", "m-1"), ("ver", "")]
