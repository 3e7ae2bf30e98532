"""A kind gets fields while an index of it is in use: searches go on, and a rebuild and a second delivery bring the rest."""

import tomllib
from dataclasses import replace

import pytest
from portal_home import settings_of

from mappings.collection import SHIPPED_KINDS, load
from mappings.documents import Access
from mappings.errors import InvalidInput
from mappings.formats.registry import read
from search.bootstrap import Medley
from search.query import Query, Terms
from web import create_app
from web.cli.indexing import fill_quietly, rebuild

EVERYBODY = Access("root", frozenset({"*"}))
OLD_FIELDS = {"year", "source", "journal", "published", "pmid"}
CITATION = """<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID Version="1">900001</PMID>
<DateRevised><Year>2021</Year><Month>03</Month><Day>04</Day></DateRevised>
<Article><ArticleTitle>Soap for grey elbows</ArticleTitle>
<AuthorList><Author><LastName>Doe</LastName><ForeName>Ann</ForeName></Author></AuthorList></Article>
<MeshHeadingList><MeshHeading><DescriptorName>Soaps</DescriptorName></MeshHeading></MeshHeadingList>
</MedlineCitation></PubmedArticle></PubmedArticleSet>"""


def deliver(medley, path):
    """Read the file of PubMed once more, index it, and say how many documents changed."""
    done = medley.collections.store("abstracts").put(list(read(path, "medline", medley.collections.get("abstracts"))))
    fill_quietly(medley, "abstracts")
    return sum(item.changed for item in done)


def ask(medley, *filters, facets=()):
    return medley.search(Query("abstracts", EVERYBODY, "soap", filters=filters, facets=facets))


@pytest.fixture
def older(tmp_path):
    """A home whose index was built before the kind had the fields of citations, and the file that was read."""
    text = (SHIPPED_KINDS / "abstracts.toml").read_text("utf-8")
    for name in tomllib.loads(text)["fields"].keys() - OLD_FIELDS:
        start = text.index(f"[fields.{name}]")
        text = text[:start] + text[text.index("\n[", start) + 1 :]
    kinds = tmp_path / "kinds"
    kinds.mkdir()
    (kinds / "abstracts.toml").write_text(text, "utf-8")
    assert set(load("abstracts", extra=kinds).fields) == OLD_FIELDS
    file = tmp_path / "pubmed.xml"
    file.write_text(CITATION, "utf-8")
    medley = Medley.open(replace(settings_of(tmp_path / "home"), collections=kinds))
    medley.collections.create("abstracts")
    assert deliver(medley, file) == 1
    return tmp_path / "home", file


def test_an_older_index_answers_with_empty_facets(older):
    home, _ = older
    app = create_app(settings_of(home))
    app.testing = True
    page = app.test_client().get("/search?collection=abstracts&text=soap")
    assert page.status_code == 200
    assert "Soap for grey elbows" in page.text.replace("<mark>", "").replace("</mark>", "")
    medley = Medley.open(settings_of(home))
    assert ask(medley, facets=("mesh", "source")).facets["mesh"] == ()
    assert [item.value for item in ask(medley, facets=("mesh", "source")).facets["source"]] == ["PubMed"]
    with pytest.raises(InvalidInput, match=r"no field 'mesh'.*medley index rebuild"):
        ask(medley, Terms("mesh", ("Soaps",)))
    assert "field 'mesh' is missing" in medley.engine.drift("abstracts-1")


def test_a_rebuild_and_a_second_delivery_bring_the_new_fields(older):
    home, file = older
    medley = Medley.open(settings_of(home))
    for _ in rebuild(medley, "abstracts"):
        pass
    assert not ask(medley, Terms("mesh", ("Soaps",))).hits, "the store never had the values"
    assert deliver(medley, file) == 1, "the same version of the record, with more fields, is a change"
    (hit,) = ask(medley, Terms("mesh", ("Soaps",)), Terms("authors", ("Doe, Ann",)), facets=("mesh",)).hits
    assert hit.fields["authors"] == ("Doe, Ann",)
    assert deliver(medley, file) == 0


def test_a_delivery_before_the_rebuild_is_enough_too(older):
    home, file = older
    medley = Medley.open(settings_of(home))
    assert deliver(medley, file) == 1
    (hit,) = ask(medley).hits
    assert hit.fields["authors"] == ("Doe, Ann",)
    for _ in rebuild(medley, "abstracts"):
        pass
    assert len(ask(medley, Terms("authors", ("Doe, Ann",))).hits) == 1
