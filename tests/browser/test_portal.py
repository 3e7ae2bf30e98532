"""The portal as people use it, in a real browser."""

from pathlib import Path

import pytest

from web.access import tokens

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AUDIT = (Path(__file__).parent / "audit.js").read_text()
ADDRESSES = {
    "start": "/",
    "hits": "/search?collection=abstracts&text=statins+mortality+adults",
    "filtered": "/search?collection=notes&text=pneumonia&filter.type=Radiology&filter.date=2020-01-01..&without=effusion",
    "nothing": "/search?collection=notes&text=zzzz&filter.type=Nothing",
    "document": "/document?collection=notes&id=p1/n1&back=collection%3Dnotes%26text%3Dpneumonia",
    "login": "/login",
}


def titles(page):
    return [text.partition("\n")[0] for text in page.locator(".hit h3").all_inner_texts()]


def test_searching_by_keyboard(visit, served):
    page = visit(served)
    page.keyboard.type("aspirin stroke")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?**")
    assert titles(page)[0] == "Aspirin for prevention of stroke"
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.closest('.hit').id") == "hit-1"
    page.keyboard.press("Enter")
    page.wait_for_url("**/document?**")
    assert page.locator("mark").all_inner_texts() == ["Aspirin reduced stroke in adults."]
    assert page.locator("#evidence").is_visible()


def test_the_slash_leads_to_the_search_box(visit, served):
    page = visit(served + ADDRESSES["hits"])
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "text"
    page.keyboard.type("metformin")
    assert page.locator("#text").input_value() == "metformin"


def test_shift_enter_begins_a_new_line_and_the_box_grows(visit, served):
    page = visit(served)
    before = page.locator("#text").bounding_box()["height"]
    page.keyboard.type("one")
    for _ in range(4):
        page.keyboard.press("Shift+Enter")
    assert page.locator("#text").input_value() == "one\n\n\n\n"
    assert page.locator("#text").bounding_box()["height"] > before + 50


def test_choosing_a_facet_and_removing_it(visit, served):
    page = visit(served + "/search?collection=abstracts&text=statins+adults+aspirin")
    everything = len(titles(page))
    page.get_by_role("link", name="Brain").click()
    page.wait_for_url("**filter.journal=Brain**")
    assert titles(page) == ["Aspirin for prevention of stroke"]
    page.get_by_role("link", name="Journal: Brain").click()
    page.wait_for_url(lambda address: "journal" not in address)
    assert len(titles(page)) == everything


def test_bounds_of_a_year(visit, served):
    page = visit(served + "/search?collection=abstracts&text=statins")
    page.get_by_label("Year, from").fill("2020")
    page.get_by_label("Year, to").fill("2020")
    page.keyboard.press("Enter")
    page.wait_for_url("**filter.year=2020..2020**")
    assert sorted(titles(page)) == ["Metformin and weight", "Statins in the very old"]


def test_changing_the_order(visit, served):
    page = visit(served + "/search?collection=abstracts&text=statins")
    page.get_by_label("Order").select_option("-year")
    page.wait_for_url("**sort=-year**")
    assert titles(page)[0] == "Statins, an embargoed trial"


def test_an_explanation_opens_and_adds_up(visit, served):
    page = visit(served + ADDRESSES["hits"])
    table = page.locator(".why table").first
    assert not table.is_visible()
    page.get_by_text("Why here?").first.click()
    assert table.is_visible()

    def shares(rows: str) -> list[float]:
        return [float(text) for text in table.locator(f"{rows} td:last-child").all_inner_texts()]

    final, fused = shares("tr.sum ~ tr.part"), shares("tr.part")
    assert sum(final) == pytest.approx(*shares("tr.total"), abs=0.002)
    assert sum(fused[: len(fused) - len(final)]) == pytest.approx(*shares("tr.sum"), abs=0.002)


def test_to_a_document_and_back(visit, served):
    page = visit(served + "/search?collection=abstracts&text=aspirin")
    page.locator(".hit h3 a").first.click()
    page.wait_for_url("**/document?**")
    page.get_by_role("link", name="Back to the hits").click()
    page.wait_for_url("**/search?collection=abstracts&text=aspirin")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_private_search_stays_out_of_addresses_until_a_link_is_wanted(visit, served, scripts):
    page = visit(served + "/search?collection=notes", scripts=scripts)
    requested = []
    page.context.on("request", lambda request: requested.append(request.url))
    page.locator("#text").fill("pneumonia")
    page.get_by_role("button", name="Search", exact=True).click()
    page.get_by_role("button", name="Discharge").click()
    page.wait_for_selector(".chip")
    assert titles(page) == ["Discharge summary"]
    assert page.title() == "Clinical notes · Medley"
    assert page.evaluate(AUDIT) == [] if scripts else True
    with page.context.expect_page() as opened:
        page.locator(".hit h3 a").click()
    opened.value.wait_for_url("**/document?**")
    with page.expect_download() as download:
        page.get_by_role("button", name="RIS").click()
    assert "Discharge summary" in Path(download.value.path()).read_text()
    assert len(requested) > 3
    assert not [address for address in requested if "pneumonia" in address]
    page.get_by_role("link", name="Link to this search").click()
    page.wait_for_url(lambda address: "text=pneumonia" in address and "filter.type=Discharge" in address)


def test_a_whole_article(visit, served):
    page = visit(served)
    page.locator("#text").fill("Statins lowered mortality in adults. " * 200)
    page.get_by_role("button", name="Search", exact=True).click()
    page.wait_for_selector(".hit")
    page.get_by_role("button", name="Heart").click()
    page.wait_for_selector(".chip")
    assert page.url.endswith("/search")
    assert all("Statins" in title for title in titles(page))


def test_everything_works_without_scripts(visit, served):
    page = visit(served, scripts=False, width=390)
    page.locator("#text").fill("pneumonia")
    page.get_by_role("link", name="Clinical notes").click()
    page.locator("#text").fill("pneumonia")
    page.get_by_role("button", name="Search", exact=True).click()
    page.get_by_text("Filters", exact=True).first.click()
    page.locator("button.value", has_text="Discharge").click()
    assert titles(page) == ["Discharge summary"]
    page.get_by_text("Why here?").click()
    assert page.locator(".why table").is_visible()


def test_logging_in_and_out(visit, guarded):
    address, home = guarded
    text = tokens.add(home, "ada", ["ward-7"])
    page = visit(address + "/search?collection=notes&text=pneumonia")
    assert page.url.startswith(address + "/login?next=")
    page.get_by_label("Your token").fill(text)
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?collection=notes&text=pneumonia")
    assert page.locator(".tally h2").inner_text() == "2 documents match the words"
    assert page.locator(".hit").count() == 1
    assert page.evaluate(AUDIT) == []
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login")
    page.goto(address + "/")
    assert page.url.startswith(address + "/login")


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ADDRESSES)
def test_the_pages_are_accessible(visit, served, name, scheme, width):
    page = visit(served + ADDRESSES[name], width=width, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((item) => (item.open = true))")
    assert page.evaluate(AUDIT) == []


def test_the_focus_can_be_seen(visit, served):
    page = visit(served + ADDRESSES["hits"])
    page.locator("body").press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.locator(".skip").bounding_box()["x"] >= 0
    for _ in range(6):
        page.keyboard.press("Tab")
        look = page.evaluate(
            "(({ outlineStyle, boxShadow }) => [outlineStyle, boxShadow])(getComputedStyle(document.activeElement))"
        )
        inside_box = page.evaluate("Boolean(document.activeElement.closest('.box'))")
        assert look[0] != "none" or inside_box


def test_the_accessibility_audit_finds_errors(visit, served):
    page = visit(served)
    page.evaluate(
        """() => {
          document.body.style.color = '#ccc';
          document.querySelector('main').insertAdjacentHTML('beforeend', '<h1>again</h1><input id="text"><button></button><p>pale</p>');
        }"""
    )
    faults = page.evaluate(AUDIT)
    for expected in (
        "there is not one h1",
        "the id text is there twice",
        'input#text. "" has no label',
        "has no name",
        "has a contrast of 1.",
    ):
        assert any(expected in fault for fault in faults), (expected, faults)
