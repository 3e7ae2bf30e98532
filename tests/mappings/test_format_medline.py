from __future__ import annotations

import gzip
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mappings.collection import load
from mappings.documents import Deletion, Document, Rejection, Section
from mappings.errors import InvalidInput
from mappings.formats import xml_elements
from mappings.formats.registry import read
from mappings.studies.badges import badges_of

KIND = load("abstracts")
PUBLIC = frozenset({"public"})
DOCTYPE = '<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN" "https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd">'

WHOLE = """
<PubmedArticle>
  <MedlineCitation Status="MEDLINE" Owner="NLM">
    <PMID Version="2">900001</PMID>
    <DateCompleted><Year>2020</Year><Month>01</Month><Day>02</Day></DateCompleted>
    <DateRevised><Year>2021</Year><Month>03</Month><Day>04</Day></DateRevised>
    <Article PubModel="Print">
      <Journal>
        <JournalIssue><Volume>12</Volume><Issue>3 Pt 1</Issue><PubDate><Year>2019</Year><Month>Dec</Month><Day>5</Day></PubDate></JournalIssue>
        <Title>Annals of Invented Medicine</Title><ISOAbbreviation>Ann Inv Med</ISOAbbreviation>
      </Journal>
      <ArticleTitle>Effect of vitamin B<sub>12</sub> on <i>H. inventus</i>
        &amp; others.</ArticleTitle>
      <Pagination><StartPage>123</StartPage><EndPage>129</EndPage><MedlinePgn>123-9</MedlinePgn></Pagination>
      <ELocationID EIdType="pii" ValidYN="Y">X1</ELocationID>
      <ELocationID EIdType="doi" ValidYN="Y">10.1000/inv.1</ELocationID>
      <Abstract>
        <AbstractText Label="AIMS" NlmCategory="OBJECTIVE">To count 10<sup>6</sup> cells/m<sup>2</sup>.</AbstractText>
        <AbstractText Label="UNLABELLED" NlmCategory="METHODS">We <b>counted</b>.</AbstractText>
        <AbstractText Label="RESULTS"> </AbstractText>
        <AbstractText Label="UNLABELLED">Done.</AbstractText>
        <CopyrightInformation>Copyright nobody.</CopyrightInformation>
      </Abstract>
      <AuthorList CompleteYN="Y">
        <Author ValidYN="Y"><LastName>Doe</LastName><ForeName>Ann B</ForeName><Initials>AB</Initials></Author>
        <Author ValidYN="N"><LastName>Do</LastName><Initials>A</Initials></Author>
        <Author ValidYN="Y"><LastName>Roe</LastName><Initials>C</Initials></Author>
        <Author ValidYN="Y"><CollectiveName>The Inventors' Group</CollectiveName></Author>
      </AuthorList>
      <Language>eng</Language>
      <PublicationTypeList><PublicationType UI="D1">Journal Article</PublicationType></PublicationTypeList>
    </Article>
    <MeshHeadingList>
      <MeshHeading><DescriptorName UI="D2" MajorTopicYN="N">Anemia</DescriptorName>
        <QualifierName UI="Q1" MajorTopicYN="Y">blood</QualifierName></MeshHeading>
      <MeshHeading><DescriptorName UI="D3" MajorTopicYN="N">Humans</DescriptorName></MeshHeading>
    </MeshHeadingList>
    <OtherAbstract Type="Publisher" Language="fre"><AbstractText>Autre.</AbstractText></OtherAbstract>
    <KeywordList Owner="NOTNLM"><Keyword MajorTopicYN="N">cell counts</Keyword></KeywordList>
  </MedlineCitation>
  <PubmedData><ArticleIdList><ArticleId IdType="doi">10.1000/other</ArticleId></ArticleIdList></PubmedData>
</PubmedArticle>"""


def short(pmid: object, title: str = "A title.", more: str = "", date_: str = "<Year>2020</Year>") -> str:
    return (
        f"<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article><Journal><JournalIssue><PubDate>{date_}</PubDate>"
        f"</JournalIssue></Journal><ArticleTitle>{title}</ArticleTitle>{more}</Article></MedlineCitation></PubmedArticle>"
    )


def abstract(*texts: str) -> str:
    return f"<Abstract>{''.join(f'<AbstractText>{text}</AbstractText>' for text in texts)}</Abstract>"


def written(folder: Path, *records: str, head: str = DOCTYPE, root: str = "PubmedArticleSet") -> Path:
    path = folder / "pubmed.xml"
    path.write_text(f'<?xml version="1.0" encoding="utf-8"?>\n{head}\n<{root}>{"".join(records)}</{root}>\n', "utf-8")
    return path


def outcome(path: Path) -> list[str | tuple[str, str | None]]:
    items = read(path, "medline", KIND)
    return [(item.position, item.field) if isinstance(item, Rejection) else item.id for item in items]


def test_a_whole_citation(tmp_path: Path) -> None:
    (found,) = read(written(tmp_path, WHOLE), "medline", KIND)
    assert found == Document(
        id="900001",
        title="Effect of vitamin B12 on H. inventus & others.",
        sections=(
            Section("AIMS", "To count 10^6 cells/m2."),
            Section("METHODS", "We counted."),
            Section("", "Done."),
        ),
        labels=PUBLIC,
        fields={
            "pmid": "900001",
            "year": 2019.0,
            "published": date(2019, 12, 5),
            "source": "PubMed",
            "journal": "Annals of Invented Medicine",
            "journal_abbreviation": "Ann Inv Med",
            "volume": "12",
            "issue": "3 Pt 1",
            "pages": "123-9",
            "authors": ("Doe, Ann B", "Roe, C", "The Inventors' Group"),
            "mesh": ("Anemia", "Humans"),
            "mesh_major": ("Anemia",),
            "keywords": ("cell counts",),
            "doi": "10.1000/inv.1",
            "language": ("eng",),
            "type": ("Journal Article",),
        },
        source_version=2_20210304,
    )


def test_notices_tell_what_became_of_an_article(tmp_path: Path) -> None:
    def refer(kind: str, place: str, pmid: str = "") -> str:
        told = f"<RefSource>{place}</RefSource>" + (f"<PMID>{pmid}</PMID>" if pmid else "")
        return f'<CommentsCorrections RefType="{kind}">{told}</CommentsCorrections>'

    found = "".join(
        (
            refer("RetractionIn", "Ann Inv Med. 2021;13:1", "900002"),
            refer("ExpressionOfConcernIn", "Ann Inv Med. 2020;12:9"),
            refer("Cites", "Somebody. 2001"),
            refer("RetractionIn", ""),
        )
    )
    citation = short(900001).replace(
        "</Article>", f"</Article><CommentsCorrectionsList>{found}</CommentsCorrectionsList>"
    )
    (document,) = read(written(tmp_path, citation), "medline", KIND)
    assert isinstance(document, Document)
    assert document.fields["notices"] == (
        "Retraction in: Ann Inv Med. 2021;13:1 (PMID 900002)",
        "Expression of concern in: Ann Inv Med. 2020;12:9",
    )
    assert badges_of(document) == ("retracted", "expression of concern")


def test_a_set_of_plain_citations_and_only_declared_fields(tmp_path: Path) -> None:
    citation = "<MedlineCitation><PMID>7</PMID><Article><ArticleTitle>T</ArticleTitle></Article><MedlineJournalInfo><MedlineTA>J Inv</MedlineTA></MedlineJournalInfo></MedlineCitation>"
    (found,) = read(written(tmp_path, citation, head="", root="MedlineCitationSet"), "medline", KIND)
    assert found == Document("7", "T", (), PUBLIC, {"pmid": "7", "source": "PubMed", "journal": "J Inv"})


def test_one_text_without_a_label_is_looked_through_for_labels(tmp_path: Path) -> None:
    (found,) = read(written(tmp_path, short(1, more=abstract("METHODS: We did. RESULTS: It worked."))), "medline", KIND)
    assert isinstance(found, Document)
    assert found.sections == (Section("METHODS", "We did."), Section("RESULTS", "It worked."))


@pytest.mark.parametrize(
    ("said", "year", "published"),
    [
        ("<Year>2020</Year>", 2020.0, date(2020, 1, 1)),
        ("<Year>2020</Year><Month>02</Month>", 2020.0, date(2020, 2, 1)),
        ("<Year>2020</Year><Month>Feb</Month><Day>29</Day>", 2020.0, date(2020, 2, 29)),
        ("<Year>2020</Year><Season>Spring</Season>", 2020.0, date(2020, 4, 1)),
        ("<MedlineDate>1998 Dec-1999 Jan</MedlineDate>", 1998.0, date(1998, 12, 1)),
        ("<MedlineDate>2000 Jul 4-7</MedlineDate>", 2000.0, date(2000, 7, 4)),
        ("<MedlineDate>2000 Fall</MedlineDate>", 2000.0, date(2000, 10, 1)),
        ("<MedlineDate>1976-1977</MedlineDate>", 1976.0, date(1976, 1, 1)),
        ("<MedlineDate>Winter 1995</MedlineDate>", 1995.0, date(1995, 1, 1)),
        ("<MedlineDate>no date</MedlineDate>", None, None),
        ("<Year>2199</Year>", 2199.0, date(2199, 1, 1)),
        ("", None, None),
    ],
)
def test_dates(tmp_path: Path, said: str, year: float | None, published: date | None) -> None:
    (found,) = read(written(tmp_path, short(1, date_=said)), "medline", KIND)
    assert isinstance(found, Document)
    assert (found.fields.get("year"), found.fields.get("published")) == (year, published)


@pytest.mark.parametrize(
    ("title", "vernacular", "expected"),
    [
        ("[Not Available].", "Titre.", "Titre."),
        ("[A translated title].", "Titre.", "[A translated title]."),
        ("", "Titre.", "Titre."),
    ],
)
def test_titles(tmp_path: Path, title: str, vernacular: str, expected: str) -> None:
    more = f"<VernacularTitle>{vernacular}</VernacularTitle>"
    (found,) = read(written(tmp_path, short(1, title, more)), "medline", KIND)
    assert isinstance(found, Document)
    assert (found.title, found.sections) == (expected, ())


def test_versions_of_one_citation_and_deletions_come_in_order(tmp_path: Path) -> None:
    older = WHOLE.replace("<Year>2021</Year>", "<Year>2020</Year>").replace('Version="2"', 'Version="1"')
    gone = '<DeleteCitation><PMID Version="1">900001</PMID><PMID Version="1">5</PMID></DeleteCitation>'
    found = list(read(written(tmp_path, older, WHOLE, short(1), short(1), gone, short(5)), "medline", KIND))
    versions = [item.source_version for item in found if isinstance(item, Document)]
    assert versions == [1_20200304, 2_20210304, None, None]
    assert [item for item in found if isinstance(item, Deletion)] == [Deletion("900001"), Deletion("5")]
    assert [(item.position, item.field) for item in found if isinstance(item, Rejection)] == [("PMID 1", "id")]


def test_bad_citations_are_named_and_stop_nothing(tmp_path: Path) -> None:
    bad = [
        short(""),
        short("x" * 10_000),
        short(3, ""),
        short(4, date_="<Year>2021</Year><Month>02</Month><Day>30</Day>"),
        short(5, date_="<Year>MMXX</Year>"),
        "<PubmedArticle><MedlineCitation><PMID>6</PMID></MedlineCitation></PubmedArticle>",
        "<PubmedBookArticle><BookDocument><PMID>7</PMID></BookDocument></PubmedBookArticle>",
        "<PubmedArticle/>",
        short(8, "An &unknown; letter"),
        "<DeleteCitation><PMID> </PMID></DeleteCitation>",
    ]
    assert outcome(written(tmp_path, *bad, short("10/9"))) == [
        ("record 1", "PMID"),
        ("PMID " + "x" * 40, "id"),
        ("PMID 3", "text"),
        ("PMID 4", "PubDate"),
        ("PMID 5", "PubDate"),
        ("PMID 6", "Article"),
        ("PMID 7", "PubmedBookArticle"),
        ("record 8", "Article"),
        ("record 9", None),
        ("record 10", "PMID"),
        "10/9",
    ]


def test_thousands_of_authors_cost_no_citation(tmp_path: Path) -> None:
    authors = "".join(f"<Author><LastName>A{number}</LastName></Author>" for number in range(1500))
    authors += f"<Author><CollectiveName>{'x' * 5000}</CollectiveName></Author>"
    (found,) = read(written(tmp_path, short(1, more=f"<AuthorList>{authors}</AuthorList>")), "medline", KIND)
    assert isinstance(found, Document)
    assert len(found.fields["authors"]) == 1000  # type: ignore[arg-type]


def test_gzip_and_its_early_end(tmp_path: Path) -> None:
    path = written(tmp_path, *(short(number * 7919 % 10_007, abstract(f"Text {number}.")) for number in range(2000)))
    packed = gzip.compress(path.read_bytes())
    path.write_bytes(packed)
    assert len(outcome(path)) == 2000
    path.write_bytes(packed[: len(packed) // 2])
    *documents, last = read(path, "medline", KIND)
    assert len(documents) > 500
    assert all(isinstance(item, Document) for item in documents)
    assert isinstance(last, Rejection)
    assert last.position == f"record {len(documents) + 1}"
    assert "the gzip file is truncated" in last.reason


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: text[: text.index("Third")], "truncated or malformed"),
        (lambda text: text.replace("Third", "<Third>"), "mismatch"),
        (lambda text: text.replace("Third", "\x01"), "invalid char"),
        (lambda text: text.replace("Third", "x" * 11_000_000), "line 5,"),
        (lambda text: text.replace("Third", "<i>" * 300), "depth"),
    ],
)
def test_malformed_xml_gives_what_came_before(tmp_path: Path, damage: object, words: str) -> None:
    path = written(tmp_path, short(1), "\n", short(2), "\n", short(3, "Third"), short(4))
    path.write_text(damage(path.read_text("utf-8")), "utf-8")  # type: ignore[operator]
    first, second, last = read(path, "medline", KIND)
    assert [first.id, second.id] == ["1", "2"]  # type: ignore[union-attr]
    assert isinstance(last, Rejection)
    assert (last.position, last.source) == ("line 5", str(path))
    assert words.lower() in last.reason.lower()


BOMB = (
    '<!DOCTYPE PubmedArticleSet [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in zip("abcdefgh", "bcdefghi", strict=True))
    + "]>"
)


@pytest.mark.parametrize(
    ("head", "title"),
    [
        (BOMB, "&i;"),
        ('<!DOCTYPE PubmedArticleSet [<!ENTITY x SYSTEM "file:///etc/hostname">]>', "&x;"),
        ('<!DOCTYPE PubmedArticleSet [<!ENTITY % x SYSTEM "http://127.0.0.1:9/x.dtd"> %x;]>', "T"),
        ('<!DOCTYPE PubmedArticleSet [<!ENTITY harmless "x">]>', "T"),
    ],
)
def test_declared_entities_are_refused_unexpanded(tmp_path: Path, head: str, title: str) -> None:
    with pytest.raises(InvalidInput, match="declares the entity"):
        list(read(written(tmp_path, short(1, title), head=head), "medline", KIND))


@pytest.mark.parametrize("content", [b"no xml", b"<html><p>x</p></html>", b"\x00\xff", b"   ", b"{}"])
def test_another_file_says_what_was_expected(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.xml").write_bytes(content)
    with pytest.raises(InvalidInput, match="expected XML") as caught:
        list(read(tmp_path / "a.xml", "medline", KIND))
    assert caught.value.field == "path"
    written(tmp_path, short(1))
    assert outcome(tmp_path) == [("file", "path"), "1"]


def test_an_empty_file_has_no_citations(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(b"")
    assert outcome(tmp_path / "a.xml") == []


def test_entities_without_a_type_end_the_file_wherever_they_stand(tmp_path: Path) -> None:
    long = short(3, more=abstract("x" * 300_000))
    path = written(tmp_path, short(1), short(2, "&unknown;"), long, short(4), head="")
    first, last = read(path, "medline", KIND)
    assert isinstance(first, Document)
    assert isinstance(last, Rejection)
    assert "Entity 'unknown' not defined" in last.reason


def test_a_file_full_of_faults_is_given_up(tmp_path: Path) -> None:
    *_, last = read(written(tmp_path, *(short(number, "<q:i/>") for number in range(200))), "medline", KIND)
    assert isinstance(last, Rejection)
    assert "100 faults" in last.reason


def test_a_record_beyond_the_bound_is_a_rejection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_elements, "MAX_RECORD_BYTES", 300_000)
    path = written(tmp_path, short(1), short(2, more=abstract(*["x" * 1000] * 1000)), short(3))
    assert outcome(path) == ["1", ("record 2", None)]


@given(st.binary(max_size=60), st.integers(0, 3000))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_records_rejections_or_invalid_input(tmp_path: Path, noise: bytes, place: int) -> None:
    path = written(tmp_path, short(1), WHOLE)
    content = path.read_bytes()
    for damaged in (noise, content[:place] + noise + content[place:]):
        path.write_bytes(damaged)
        try:
            found = list(read(path, "medline", KIND))
        except InvalidInput:
            continue
        assert all(isinstance(item, Document | Deletion | Rejection) for item in found)


@pytest.mark.slow
def test_a_large_file_is_read_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.xml"
    record = short("{}", more=abstract("word " * 900, "end"))
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{DOCTYPE}<PubmedArticleSet>")
        file.writelines(record.replace("{}", str(number)) + "\n" for number in range(6000))
        file.write("</PubmedArticleSet>")
    assert path.stat().st_size > 28_000_000
    assert len(list(read(written(tmp_path, short(1)), "medline", KIND))) == 1
    before = resident()
    count = sum(isinstance(item, Document) for item in read(path, "medline", KIND))
    assert count == 6000
    assert resident() - before < 16_000_000  # with the parser's own


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096
