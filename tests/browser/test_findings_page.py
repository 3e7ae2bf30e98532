"""The criteria of a search and the findings of a document, in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AUDIT = (Path(__file__).parent / "audit.js").read_text()
ADDRESSES = {
    "criteria": "/search?collection=notes&text=pneumonia+without+effusion",
    "findings": "/search?collection=notes&with=pneumonia,zorblax&without=fever,effusion&absence=ruled-out",
    "document": "/document?collection=notes&id=p1/n1",
    "patient": "/patient?collection=notes&document=p1/n1",
    "by id": "/search?collection=notes&text=p1",
    "unmarked": "/document?collection=notes&id=p1/n1&findings=off",
}


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ADDRESSES)
def test_the_pages_are_accessible(visit, served, name, scheme, width):
    page = visit(served + ADDRESSES[name], width=width, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((item) => (item.open = true))")
    assert page.evaluate(AUDIT) == []


@pytest.mark.parametrize("scripts", [True, False])
def test_a_criterion_is_changed_and_removed(visit, served, scripts):
    page = visit(served + "/search?collection=notes", scripts=scripts)
    page.locator("#text").fill("pneumonia without effusion")
    page.get_by_role("button", name="Search", exact=True).click()
    assert page.locator(".criterion .asked").all_inner_texts() == ["with pneumonia", "without effusion"]
    assert page.locator(".proofs dt").all_inner_texts() == ["with pneumonia", "without effusion"]
    page.locator(".criterion summary").nth(1).click()
    page.get_by_role("button", name="with effusion", exact=True).click()
    expect(page.locator(".criterion .asked")).to_have_text(["with pneumonia", "with effusion"])
    expect(page.locator(".tally h2")).to_contain_text("1 document")
    page.get_by_role("button", name="Remove with effusion").click()
    expect(page.locator(".criterion .asked")).to_have_text(["with pneumonia"])
    assert page.locator("#text").input_value() == "pneumonia without effusion"
    assert page.url == served + "/search"


@pytest.mark.parametrize("scripts", [True, False])
def test_a_patient_is_opened_by_id_and_read(visit, served, scripts):
    page = visit(served + "/?collection=notes", scripts=scripts)
    page.get_by_label("Or open a patient by id").fill("p1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/patient?collection=notes&document=p1%2Fn2")
    assert page.locator("h1").inner_text() == "Patient p1"
    page.locator(".problem", has_text="effusion").locator("summary").click()
    page.get_by_role("link", name="Open the document that says of effusion").click()
    assert page.locator(":target").inner_text().startswith("effusion")
    page.get_by_role("link", name="All documents of this patient").click()
    page.get_by_role("link", name="Discharge").first.click()
    assert page.locator(".timeline li a").all_inner_texts() == ["Discharge summary"]


def test_the_documents_of_a_patient_are_walked_by_keys(visit, served):
    page = visit(served + ADDRESSES["patient"])
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent") == "Chest radiograph"
    page.keyboard.press("Enter")
    page.wait_for_url("**/document?**")


def shapes(page):
    return page.evaluate(
        "[...document.querySelectorAll('.text .finding')].map((item) => getComputedStyle(item).textDecorationStyle + ' '"
        " + getComputedStyle(item).textDecorationLine)"
    )


def test_the_marks_are_switched_by_a_key(visit, served):
    page = visit(served + ADDRESSES["document"])
    assert shapes(page) == ["solid underline", "double underline"]
    page.keyboard.press("f")
    assert [shape.split()[1] for shape in shapes(page)] == ["none", "none"]
    assert page.locator(".switch-findings").inner_text() == "Show the marks"
    page.keyboard.press("f")
    assert shapes(page) == ["solid underline", "double underline"]
    page.goto(served + ADDRESSES["unmarked"])
    page.keyboard.press("f")
    page.wait_for_url(lambda address: "findings" not in address)
    assert len(shapes(page)) == 2


def test_the_marks_are_switched_without_scripts(visit, served):
    page = visit(served + ADDRESSES["document"], scripts=False)
    page.get_by_role("link", name="Hide the marks").click()
    page.get_by_role("link", name="Show the marks").click()
    assert page.url.endswith("/document?collection=notes&id=p1%2Fn1")
