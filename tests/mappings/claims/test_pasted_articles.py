"""What was pasted, and what is read of an article: text, links, DOIs and PubMed ids. Hostile pages take no longer."""

import time

import pytest

from mappings.claims.article import MOST_LINKS, MOST_TEXT, PastedArticle, is_html
from mappings.claims.pasted import MOST_HEADLINES, PastedClaims, read_pasted
from mappings.errors import InvalidInput

PAGE = """<!DOCTYPE html><html><head><title>Daily News</title><style>p { color: red }</style>
<script>var claim = "<p>Bleach cures everything.</p>";</script></head><body>
<nav><ul><li><a href="https://news.example/home">Home</a></li></ul></nav>
<article><h1>Coffee &amp; your heart</h1><!-- <p>Hidden words.</p> --><p>Coffee cuts the risk
of <b>stroke</b>, a <a href="https://doi.org/10.1000/abc.1">study</a> found.</p>
<p>See <a href='https://pubmed.ncbi.nlm.nih.gov/12345678/'>PubMed</a> and <a href="https://www.example.org/report">the report</a>,
<a href="javascript:alert(1)">this</a> (doi:10.1000/xyz(2)9), PMID: 7654321.</p></article>
<footer>All rights reserved</footer><SCRIPT>document.write("late")</SCRIPT></body></html>"""


def test_a_page_is_read_without_its_scripts_and_its_frame():
    article = PastedArticle.of(PAGE)
    assert article.text.splitlines()[0] == "Coffee & your heart"
    assert "Coffee cuts the risk of stroke, a study found." in article.text
    for left_out in ("Bleach", "color", "Home", "Hidden", "rights", "late", "Daily News", "<", "var"):
        assert left_out not in article.text
    assert not article.cut


def test_what_a_page_points_to_is_listed_once():
    article = PastedArticle.of(PAGE + PAGE)
    assert article.dois == ("10.1000/abc.1", "10.1000/xyz(2)9")
    assert article.pmids == ("12345678", "7654321")
    assert article.links == ("https://www.example.org/report",)


def test_plain_text_keeps_its_signs_and_its_links():
    text = "Mortality fell (p < .05, n > 30); see https://example.org/a?b=1, and https://dx.doi.org/10.1000%2Fq7."
    article = PastedArticle.of(text)
    assert article.text == text
    assert (article.dois, article.links) == (("10.1000/q7",), ("https://example.org/a?b=1",))
    assert not is_html(text)


def test_a_page_that_is_never_closed_is_read_as_far_as_it_goes():
    assert PastedArticle.of("<p>Coffee helps.<script>evil(").text == "Coffee helps."
    assert PastedArticle.of("<p>Coffee helps.<!-- evil").text == "Coffee helps."
    assert PastedArticle.of("<p>Coffee <b>helps").text == "Coffee helps"
    assert PastedArticle.of("<p>a</p><nav>x</footer></nav><p>b").text == "a\n\nb"


def test_text_and_links_have_a_most():
    article = PastedArticle.of(
        "<p>" + "".join(f'<a href="https://e.org/{n}">x</a> ' for n in range(200)) + "word " * 60_000
    )
    assert (len(article.text), article.cut, len(article.links)) == (MOST_TEXT, True, MOST_LINKS)


@pytest.mark.parametrize(
    "unit",
    [
        "<",
        "<a ",
        "<!--",
        '<a x="',
        "&",
        "</",
        "<![",
        "<?",
        "<script>",
        '<a href="http://x.y/',
        "10.1000/",
        "<nav>",
        "a.b ",
    ],
)
def test_a_hostile_page_of_a_megabyte_takes_seconds_at_most(unit):
    started = time.monotonic()
    PastedArticle.of("<p>" + unit * (1_000_000 // len(unit)))
    assert time.monotonic() - started < 10  # the parser of the standard library takes hours for some of these


def test_elements_that_are_never_closed_take_no_longer():
    started = time.monotonic()
    PastedArticle.of("<p>" + "<nav>" * 100_000 + "</footer>" * 100_000)
    assert time.monotonic() - started < 10


LIST = "Coffee prevents stroke\n\n  - Aspirin causes bleeding\n3. Statins kill"


def test_one_line_is_a_headline_and_several_are_a_list():
    assert read_pasted("  Coffee  prevents stroke \n") == PastedClaims("headline", ("Coffee prevents stroke",))
    assert read_pasted("Coffee cures cancer. Really?").kind == "headline"
    assert read_pasted(LIST).headlines == ("Coffee prevents stroke", "Aspirin causes bleeding", "Statins kill")
    assert read_pasted("咖啡能降低中风的风险").kind == "headline"
    assert read_pasted("القهوة تقلل من خطر السكتة\nالشاي يسبب السرطان").kind == "headlines"


@pytest.mark.parametrize(
    "text",
    [
        PAGE,
        "<p>Coffee.</p>",
        "Coffee cuts the risk of stroke. A study found so. It ran for years. " * 8,
        "Coffee may be good.\nIt cuts the risk of stroke. So a study says. But few believe it.",
        "coffee cuts the risk of\nstroke in people who\ndrink a lot of it and\nsleep well",
        "\n".join(f"Coffee number {number} is good for you." for number in range(30)),
    ],
)
def test_pages_and_paragraphs_are_articles(text):
    assert read_pasted(text) == PastedClaims("article")


def test_whoever_pastes_can_say_what_it_is():
    assert read_pasted(LIST, "article").kind == "article"
    assert read_pasted(LIST, "headline").headlines == ("Coffee prevents stroke Aspirin causes bleeding Statins kill",)
    assert read_pasted("Coffee. Tea. Milk.", "headlines").kind == "headline"
    assert read_pasted(LIST, "nonsense").kind == "headlines"


def test_too_many_headlines_are_refused_by_name_and_nothing_is_refused():
    lines = [f"Food {number} prevents stroke" for number in range(MOST_HEADLINES + 1)]
    assert len(read_pasted("\n".join(lines[:-1])).headlines) == MOST_HEADLINES
    assert len(read_pasted("\n".join([*lines[:-1], lines[0]])).headlines) == MOST_HEADLINES
    with pytest.raises(InvalidInput, match=r"21 headlines.*leave out 1, beginning with “Food 20 prevents stroke”"):
        read_pasted("\n".join(lines))
    with pytest.raises(InvalidInput, match="paste a headline"):
        read_pasted(" \n\t\n")
