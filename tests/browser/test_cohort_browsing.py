"""A cohort that is built, saved, compared and deleted in a real browser, by keyboard, with and without scripts."""

from pathlib import Path

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AUDIT = (Path(__file__).parent / "audit.js").read_text()


def audited(page):
    """What the audit says of `page`, on which an element of the new page must have been waited for after a click."""
    page.evaluate("document.querySelectorAll('details').forEach((item) => (item.open = true))")
    return page.evaluate(AUDIT)


def type_into(page, label, text):
    page.get_by_label(label, exact=True).last.focus()
    page.keyboard.type(text)


def press(page, name):
    page.get_by_role("button", name=name, exact=True).focus()
    page.keyboard.press("Enter")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_cohort_is_built_saved_and_opened_by_keyboard(visit, guarded, scripts):
    address, _ = guarded
    page = visit(f"{address}/cohorts", scripts=scripts)
    type_into(page, "Finding, disease or drug", "pneumonia")
    page.keyboard.press("Enter")
    page.locator("#total").wait_for()
    assert page.locator("#total").inner_text() == "2 of 2 patients meet these rows"
    press(page, "Add a row")
    page.locator("#row-2").wait_for()
    type_into(page, "Finding, disease or drug", "effusion")
    page.get_by_label("Patients", exact=True).last.select_option("none")
    page.get_by_label("Finding, disease or drug").last.press("Enter")
    page.get_by_text("1 of 2 patients meets these rows").wait_for()
    type_into(page, "Name", "Dry pneumonia")
    press(page, "Save")
    page.wait_for_url("**/cohorts/*")
    assert page.locator("h1").inner_text() == "Dry pneumonia"
    page.get_by_role("link", name="Saved", exact=True).click()
    page.get_by_role("link", name="Dry pneumonia").click()
    assert page.locator("#total").inner_text() == "1 of 2 patients meets these rows"


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_of_cohorts_are_accessible(visit, guarded, scheme, width):
    address, _ = guarded
    page = visit(f"{address}/cohorts", width=width, scheme=scheme)
    assert audited(page) == []
    type_into(page, "Finding, disease or drug", "pneumonia")
    page.keyboard.press("Enter")
    for name in ("One", "Two"):
        page.locator("#total").wait_for()
        assert audited(page) == []
        page.get_by_label("Name", exact=True).fill(name)
        page.locator(".keep").get_by_role("button", name="Save" if name == "One" else "Save as another").click()
        page.wait_for_url("**/cohorts/*?saved=now")
    page.goto(f"{address}/saved")
    assert audited(page) == []
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/compare?**")
    assert audited(page) == []
    page.goto(f"{address}/cohorts")
    type_into(page, "Finding, disease or drug", "zorblax")
    assert audited(page) == []


@pytest.mark.parametrize(("scripts", "width"), [(True, 390), (True, 1440), (False, 1440)])
def test_a_bundle_is_made_searched_for_and_used_in_a_cohort(visit, guarded, scripts, width):
    address, _ = guarded
    page = visit(f"{address}/saved", width=width, scripts=scripts)
    page.get_by_text("New bundle").click()
    page.get_by_label("Name", exact=True).last.fill("Chest")
    page.get_by_label("Terms, one a line").last.fill("effusion\ngout")
    page.locator("form[action='/saved/bundles']").get_by_role("button", name="Save").click()
    page.get_by_label("Search for any of them in").wait_for()
    assert not scripts or audited(page) == []
    page.get_by_label("Search for any of them in").select_option("notes")
    page.get_by_role("button", name="Search for Chest", exact=True).click()
    assert page.locator(".criterion .asked").inner_text() == "with Chest any of 2"
    assert not scripts or audited(page) == []
    page.goto(f"{address}/saved")
    page.get_by_role("link", name="Use in a cohort").click()
    assert page.locator("#total").inner_text() == "1 of 2 patients meets these rows"
    page.get_by_role("button", name="Add a row", exact=True).click()
    page.get_by_label("Finding, disease or drug").last.fill("fever")
    page.keyboard.press("Enter")
    page.get_by_text("0 of 2 patients meet these rows").wait_for()
    page.get_by_role("button", name="Switch off row 2").click()
    page.get_by_text("1 of 2 patients meets these rows").wait_for()
    assert not scripts or audited(page) == []
