"""Judging a hit, and marking a saved search as seen, in a real browser: by keyboard, with and without scripts."""

from pathlib import Path

import pytest
import studies_home
from portal_home import serve

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AUDIT = (Path(__file__).parent / "audit.js").read_text()
SEARCH = "/search?collection=abstracts&text=Aspirin+prevents+strokes"
CLAIM = "Aspirin reduces the risk of stroke in adults"


@pytest.fixture
def private(tmp_path):
    """The address of a portal whose collection `studies` has private queries."""
    folder = studies_home.fill(tmp_path / "private", private=True)
    yield from serve(folder / "home", studies_home.settings_of(folder))


def audited(page):
    page.evaluate("document.querySelectorAll('details').forEach((item) => (item.open = true))")
    return page.evaluate(AUDIT)


def judge(page, words, says=""):
    """Judge the first hit by keyboard."""
    form = page.locator(".judging").first
    form.locator("summary").focus()
    page.keyboard.press("Enter")
    form.get_by_label(words, exact=True).focus()
    page.keyboard.press("Space")
    if says:
        form.get_by_label("It says", exact=True).select_option(says)
    form.get_by_role("button", name="Save", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_text("You: ").first.wait_for()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_hit_is_judged_by_keyboard_and_the_browser_stays_at_it(visit, guarded, scripts):
    address, _ = guarded
    page = visit(f"{address}{SEARCH}", scripts=scripts)
    judge(page, "partly")
    assert page.url == f"{address}{SEARCH}#hit-1"
    assert page.locator("#hit-1 .judging summary").inner_text().startswith("You: partly")
    page.goto(f"{address}/judgements")
    page.get_by_role("button", name="Withdraw").first.focus()
    page.keyboard.press("Enter")
    page.get_by_text("Nothing yet").wait_for()


def test_a_private_text_gets_into_no_address(visit, private):
    page = visit(f"{private}/claims?collection=studies")
    page.locator("#pasted").fill(CLAIM)
    page.get_by_role("button", name="Look it up", exact=True).click()
    page.locator(".judging").first.wait_for()
    judge(page, "yes", "supports")
    assert "risk" not in page.url
    assert page.url.startswith(f"{private}/judgements#hit-")
    assert page.get_by_text("You: yes, supports").count() == 1


def test_a_saved_search_is_marked_as_seen(visit, guarded):
    address, _ = guarded
    page = visit(f"{address}{SEARCH}")
    page.locator(".save-search summary").click()
    page.get_by_label("Name", exact=True).fill("Aspirin")
    page.locator(".save-search").get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Nothing new since").wait_for()
    page.get_by_role("button", name="Mark as seen").click()
    page.get_by_text("Nothing new since").wait_for()


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_of_judging_are_accessible(visit, guarded, scheme, width):
    address, _ = guarded
    page = visit(f"{address}{SEARCH}", width=width, scheme=scheme)
    assert audited(page) == []
    page.reload()
    judge(page, "no")
    for where in (
        page.url,
        f"{address}/judgements",
        f"{address}/claim?collection=abstracts&text=Aspirin+prevents+strokes",
    ):
        page.goto(where)
        assert audited(page) == []
