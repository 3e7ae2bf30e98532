"""A dossier from a search to an export in a real browser, by keyboard, with and without scripts."""

from pathlib import Path

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AUDIT = (Path(__file__).parent / "audit.js").read_text()
SEARCH = "/search?collection=abstracts&text=Aspirin+prevents+strokes"


def audited(page):
    page.evaluate("document.querySelectorAll('details').forEach((item) => (item.open = true))")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    return page.evaluate(AUDIT)


def press(place, name):
    place.get_by_role("button", name=name, exact=True).focus()
    place.page.keyboard.press("Enter")


def add_first_hit(page, address):
    page.goto(f"{address}{SEARCH}")
    form = page.locator(".add-to-dossier").first
    form.locator("summary").focus()
    page.keyboard.press("Enter")
    press(form, "Add")
    page.wait_for_url("**/dossiers/*")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_claim_is_kept_and_rated_by_keyboard(visit, guarded, scripts):
    address, _ = guarded
    page = visit(address, scripts=scripts)
    add_first_hit(page, address)
    assert page.locator("h1").inner_text() == "Aspirin prevents strokes"
    page.get_by_label("Verdict", exact=True).select_option("mostly true")
    page.get_by_label("Notes", exact=True).fill("In adults.")
    press(page.locator(".rate"), "Save")
    page.get_by_text("Verdict: mostly true").wait_for()
    page.get_by_role("link", name="Dossiers", exact=True).first.click()
    page.get_by_text("1 claim: 1 mostly true").wait_for()
    page.get_by_role("link", name="Aspirin prevents strokes").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="RIS", exact=True).click()
    assert "N1  - Claim: Aspirin prevents strokes (verdict: mostly true)" in download.value.path().read_text()


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_of_dossiers_are_accessible(visit, guarded, scheme, width):
    address, _ = guarded
    page = visit(f"{address}{SEARCH}", width=width, scheme=scheme)
    assert audited(page) == []
    add_first_hit(page, address)
    own = page.url.partition("#")[0]
    for where in (own, f"{own}/print", f"{address}/dossiers"):
        page.goto(where)
        assert audited(page) == []
