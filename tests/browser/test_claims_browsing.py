"""Claims in a real browser: from a headline to two studies side by side, by keyboard, with and without scripts."""

from pathlib import Path

import pytest
import studies_home
from portal_home import serve

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AUDIT = (Path(__file__).parent / "audit.js").read_text()
CLAIM = "Aspirin reduces the risk of stroke in adults"
ARTICLE = f"""{CLAIM}, a study of 39,876 women found. It also reduces falls. Is it so? Nobody in the office knows.

Coffee prevents cancer and lowers blood pressure. See https://doi.org/10.1000/abc and https://news.example/more.
People who sleep less than six hours a night are 30% more likely to have dementia."""
ADDRESSES = {
    "claim": f"/claim?collection=studies&text={CLAIM}+and+causes+bleeding",
    "unread": f"/claim?collection=abstracts&text={CLAIM}",
    "table": f"/claims/table?collection=studies&claim={CLAIM}&claim=Coffee+cuts+strokes+by+30&claim=Does+it+help%3F",
    "compare": f"/claim/compare?collection=studies&text={CLAIM}&document=pm/2&document=pm/3",
    "search": f"/search?collection=studies&text={CLAIM}",
}


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    """The address of a portal over studies with a stance classifier."""
    folder = studies_home.fill(tmp_path_factory.mktemp("studies"))
    yield from serve(folder, studies_home.settings_of(folder))


def audited(page):
    page.evaluate("document.querySelectorAll('details').forEach((item) => (item.open = true))")
    return page.evaluate(AUDIT)


def press(page, name):
    page.get_by_role("button", name=name, exact=True).focus()
    page.keyboard.press("Enter")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_headline_leads_to_two_studies_side_by_side(visit, studies, scripts):
    page = visit(f"{studies}/claims", scripts=scripts)
    page.get_by_label("Headline, headlines or article").focus()
    page.keyboard.type(CLAIM)
    press(page, "Look it up")
    page.wait_for_url("**/claim?**")
    assert page.locator(".stance-column").count() == 3
    for place in (0, 1):
        page.get_by_label("Compare").nth(place).press("Space")
    press(page, "Compare the two that are chosen")
    page.wait_for_url("**/claim/compare?**")
    assert page.locator(".side-by-side thead a").count() == 2


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_of_claims_are_accessible(visit, studies, scheme, width):
    page = visit(f"{studies}/claims", width=width, scheme=scheme)
    assert audited(page) == []
    page.locator("#pasted").fill(ARTICLE)
    press(page, "Look it up")
    page.locator(".proposals").wait_for()
    assert audited(page) == []
    for name, address in ADDRESSES.items():
        page.goto(studies + address)
        assert audited(page) == [], name
