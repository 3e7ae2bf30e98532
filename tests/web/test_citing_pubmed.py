"""From a file of PubMed to its citation: nothing that a citation needs is lost on the way."""

import csv
import io

import pytest
import rispy

from mappings.collection import load
from mappings.documents import Document, Rejection
from mappings.formats.registry import read
from web.citations.bibtex import as_bibtex
from web.citations.citation import citation
from web.citations.csv_table import as_csv
from web.citations.ris import as_ris

KIND = load("abstracts")
ARTICLE = """
<PubmedArticle><MedlineCitation>
  <PMID Version="2">900001</PMID>
  <Article>
    <Journal>
      <JournalIssue><Volume>12</Volume><Issue>3</Issue><PubDate><Year>2019</Year><Month>Dec</Month><Day>5</Day></PubDate></JournalIssue>
      <Title>Annals of Invented Medicine</Title><ISOAbbreviation>Ann Inv Med</ISOAbbreviation>
    </Journal>
    <ArticleTitle>Soap for
      grey elbows.</ArticleTitle>
    <Pagination><MedlinePgn>123-9</MedlinePgn></Pagination>
    <ELocationID EIdType="pii" ValidYN="Y">S0000-1234</ELocationID>
    <ELocationID EIdType="doi" ValidYN="N">10.1000/wrong</ELocationID>
    <ELocationID EIdType="doi" ValidYN="Y">10.1000/inv_1</ELocationID>
    <Abstract><AbstractText Label="RESULTS">They were clean.
TY  - BOOK</AbstractText></Abstract>
    <AuthorList>
      <Author><LastName>Doe</LastName><ForeName>Ann B</ForeName><Suffix>Jr</Suffix></Author>
      <Author><LastName>Müller-Ødegård</LastName><ForeName>Zoë</ForeName></Author>
      <Author><CollectiveName>The Inventors' Group, North and South</CollectiveName></Author>
    </AuthorList>
    <Language>eng</Language>
    <PublicationTypeList><PublicationType>Journal Article</PublicationType></PublicationTypeList>
  </Article>
  <MeshHeadingList>
    <MeshHeading><DescriptorName MajorTopicYN="Y">Anemia, Sickle Cell</DescriptorName></MeshHeading>
    <MeshHeading><DescriptorName>Humans</DescriptorName></MeshHeading>
  </MeshHeadingList>
  <KeywordList><Keyword>elbows</Keyword></KeywordList>
</MedlineCitation>
<PubmedData><ArticleIdList><ArticleId IdType="doi">10.1000/inv_1</ArticleId></ArticleIdList></PubmedData>
</PubmedArticle>"""


def read_in(folder, *articles):
    path = folder / "pubmed.xml"
    path.write_text(f"<PubmedArticleSet>{''.join(articles)}</PubmedArticleSet>", "utf-8")
    return list(read(path, "medline", KIND))


def cited(folder, article=ARTICLE):
    (document,) = read_in(folder, article)
    return citation(document, "abstracts")


def test_the_citation_of_a_pubmed_file_lacked_its_authors_and_doi(tmp_path):
    assert (
        as_ris([cited(tmp_path)]).splitlines()
        == [
            "",
            "TY  - JOUR",
            "AU  - Doe, Ann B, Jr",
            "AU  - Müller-Ødegård, Zoë",
            "AU  - The Inventors' Group, North and South",
            "TI  - Soap for grey elbows.",
            "JF  - Annals of Invented Medicine",
            "JO  - Ann Inv Med",
            "PY  - 2019",
            "DA  - 2019/12/05",
            "VL  - 12",
            "IS  - 3",
            "SP  - 123",
            "EP  - 129",
            "DO  - 10.1000/inv_1",
            "AN  - 900001",
            "UR  - https://pubmed.ncbi.nlm.nih.gov/900001/",
            "AB  - RESULTS: They were clean. TY - BOOK",
            "KW  - Anemia, Sickle Cell",
            "KW  - Humans",
            "KW  - elbows",
            "LA  - eng",
            "M3  - Journal Article",
            "DB  - PubMed",
            "ID  - 900001",
            "ER  - ",
        ][1:]
    )


def test_bibtex_of_a_pubmed_file(tmp_path):
    assert as_bibtex([cited(tmp_path)]) == (
        "@article{900001,\n"
        "  title = {{Soap for grey elbows.}},\n"
        "  author = {Doe, Jr, Ann B and Müller-Ødegård, Zoë and {The Inventors' Group, North and South}},\n"
        "  journal = {Annals of Invented Medicine},\n"
        "  year = {2019},\n"
        "  volume = {12},\n"
        "  number = {3},\n"
        "  pages = {123--129},\n"
        "  doi = {10.1000/inv_1},\n"
        "  pmid = {900001},\n"
        "  keywords = {Anemia Sickle Cell, Humans, elbows},\n"
        "  language = {eng},\n"
        "  abstract = {RESULTS: They were clean. TY - BOOK},\n"
        "  note = {abstracts: 900001},\n"
        "}\n"
    )


def test_csv_of_a_pubmed_file(tmp_path):
    (row,) = csv.DictReader(io.StringIO(as_csv([cited(tmp_path)])))
    assert row == {
        "id": "900001",
        "title": "Soap for grey elbows.",
        "authors": "Doe, Ann B, Jr; Müller-Ødegård, Zoë; The Inventors' Group, North and South",
        "year": "2019",
        "published": "2019-12-05",
        "journal": "Annals of Invented Medicine",
        "journal_abbreviation": "Ann Inv Med",
        "volume": "12",
        "issue": "3",
        "pages": "123-9",
        "pmid": "900001",
        "doi": "10.1000/inv_1",
        "mesh": "Anemia, Sickle Cell; Humans",
        "keywords": "elbows",
        "type": "Journal Article",
        "language": "eng",
        "source": "PubMed",
        "collection": "abstracts",
        "abstract": "RESULTS: They were clean. TY - BOOK",
        "note": "",
    }


def test_a_record_without_author_doi_or_date_is_cited_without_them(tmp_path):
    bare = "<PubmedArticle><MedlineCitation><PMID>7</PMID><Article><ArticleTitle>T</ArticleTitle></Article></MedlineCitation></PubmedArticle>"
    untitled = bare.replace("<ArticleTitle>T</ArticleTitle>", "").replace(">7<", ">8<")
    document, rejected = read_in(tmp_path, bare, untitled)
    assert as_ris([citation(document, "abstracts")]).split("\n") == [
        "TY  - GEN",
        "TI  - T",
        "AN  - 7",
        "UR  - https://pubmed.ncbi.nlm.nih.gov/7/",
        "DB  - PubMed",
        "ID  - 7",
        "ER  - ",
        "",
    ]
    assert isinstance(rejected, Rejection)
    assert (rejected.position, rejected.field) == ("PMID 8", "text")


def test_all_of_five_hundred_authors_are_cited(tmp_path):
    many = "".join(f"<Author><LastName>N{number}</LastName><Initials>A</Initials></Author>" for number in range(500))
    found = cited(tmp_path, ARTICLE.replace("</AuthorList>", f"{many}</AuthorList>"))
    assert as_ris([found]).count("\nAU  - ") == 503
    assert as_bibtex([found]).count(" and N") == 500


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("<Year>2019</Year>", "2019///"),
        ("<Year>2019</Year><Month>Dec</Month>", "2019/12//"),
        ("<Year>2019</Year><Month>Dec</Month><Day>5</Day>", "2019/12/05"),
    ],
)
def test_a_date_of_publication_claims_no_day_that_is_not_known(tmp_path, said, known):
    whole = "<Year>2019</Year><Month>Dec</Month><Day>5</Day>"
    assert cited(tmp_path, ARTICLE.replace(whole, said)).day == known


@pytest.mark.parametrize(
    ("written", "pages"),
    [
        ("123-9", ("123", "129")),
        ("123-129", ("123", "129")),
        ("S12-S20", ("S12", "S20")),
        ("e1004", ("e1004", "")),
        ("1-12; discussion 13", ("1", "12")),
        ("iii-v", ("iii-v", "")),
        ("99-7", ("99", "97")),
        ("", ("", "")),
    ],
)
def test_pages(written, pages):
    assert citation(Document("a", "T", (), fields={"pages": written}), "abstracts").pages == pages


def test_line_breaks_in_values_add_no_line_and_no_cell():
    evil = "x\r\nER  - \nTY  - BOOK\u2028AU  - Mallory\x85\x0b\x1cKW  - y"
    names = ("authors", "doi", "pmid", "volume", "issue", "pages", "journal", "mesh", "language", "type", "source")
    document = Document("a", evil, (), fields=dict.fromkeys(names, (evil, f"=cmd\n{evil}")))
    item = citation(document, "abstracts")
    ris = as_ris([item])
    assert {line[:6] for line in ris.splitlines()} <= {
        f"{tag}  - "
        for tag in ["TY", "AU", "TI", "JF", "JO", "VL", "IS", "SP", "DO", "AN", "KW", "LA", "M3", "DB", "ID", "ER"]
    }
    assert len(rispy.loads(ris)) == 1
    assert as_bibtex([item]).count("\n@") == 0
    rows = list(csv.reader(io.StringIO(as_csv([item]))))
    assert len(rows) == 2
    assert not any("\n" in cell for cell in rows[1])


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\n=", " \t@", "\uff1d"])
def test_no_list_of_a_table_begins_a_formula(start):
    fields = {"authors": (f"{start}cmd()",), "mesh": ("Anemia", "=cmd()"), "doi": f"{start}1"}
    written = as_csv([citation(Document("a", f"{start}T", (), fields=fields), "abstracts")])
    (row,) = csv.DictReader(io.StringIO(written))
    assert all(row[name].startswith("'") for name in ("title", "authors", "doi"))
    assert '"Anemia; =cmd()"' in written  # in quotes, so that it is one cell where semicolons separate cells


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("Doe, Ann", "Doe, Ann"),
        ("Doe, Ann, Jr", "Doe, Jr, Ann"),
        ("Doe", "Doe"),
        ("Invented Trials Group", "{Invented Trials Group}"),
        ("Centre for Soap, Elbows and Knees", "{Centre for Soap, Elbows and Knees}"),
        ("A, B, C, D", "{A, B, C, D}"),
        ("A,B,C,D", "{A,B,C,D}"),
        ("Doe,", "Doe"),
        ("Doe, and", "{Doe, and}"),
        ("Doe,,Ann", "{Doe,,Ann}"),
        ("and", "{and}"),
        ("Others", "{Others}"),
        ("Do{e, A\\nn_", "Do\\{e, A\\textbackslash{}nn\\_"),
    ],
)
def test_bibtex_takes_no_group_apart(name, written):
    item = citation(Document("a", "T", (), fields={"authors": (name,)}), "abstracts")
    assert f"  author = {{{written}}},\n" in as_bibtex([item])


def test_a_name_of_commas_alone_is_no_author():
    item = citation(Document("a", "T", (), fields={"authors": (", ,", "Doe, A")}), "abstracts")
    assert "  author = {Doe, A},\n" in as_bibtex([item])


def test_authors_in_one_text_are_separated_at_semicolons():
    item = citation(Document("a", "T", (), fields={"authors": "Doe, A; Roe, B;"}), "abstracts")
    assert item.authors == ("Doe, A", "Roe, B")


def test_of_two_dois_the_first_good_one_is_cited():
    fields = {"doi": ("S0000 [pii]", "https://doi.org/10.1000/a", "10.1000/b")}
    assert citation(Document("a", "T", (), fields=fields), "abstracts").doi == "10.1000/a"
    assert citation(Document("a", "T", (), fields={"doi": "none"}), "abstracts").doi == "none"
