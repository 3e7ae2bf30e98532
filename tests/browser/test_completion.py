"""Completion while one types, in a real browser: by keyboard, by pointer, and without its script."""

from pathlib import Path

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AUDIT = (Path(__file__).parent / "audit.js").read_text()
NOTES = "/search?collection=notes&entity=x"  # the fields are open


def options(page, field):
    return page.locator(f"#{field}-completions [role=option] .name").all_inner_texts()


def type_into(page, field, text):
    page.locator(f"#{field}").click()
    page.locator(f"#{field}").fill("")
    page.keyboard.type(text)
    page.wait_for_selector(f"#{field}-completions:not([hidden])")


def state(page, field):
    names = ("role", "aria-expanded", "aria-activedescendant")
    return [page.locator(f"#{field}").get_attribute(name) for name in names]


def test_a_mistyped_concept_is_completed_by_keyboard(visit, served):
    page = visit(served + NOTES)
    assert state(page, "with") == ["combobox", "false", None]
    type_into(page, "with", "pnuemonia")
    assert options(page, "with")[0] == "pneumonia"
    assert state(page, "with") == ["combobox", "true", None]
    assert page.locator("#with ~ [role=status]").inner_text().endswith("completions")
    page.keyboard.press("ArrowDown")
    assert state(page, "with") == ["combobox", "true", "with-completions-0"]
    assert page.locator("#with-completions-0").get_attribute("aria-selected") == "true"
    page.keyboard.press("ArrowUp")
    assert state(page, "with")[2] is None
    page.keyboard.press("ArrowUp")
    assert state(page, "with")[2] == f"with-completions-{len(options(page, 'with')) - 1}"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#with").input_value() == "pneumonia"
    assert state(page, "with") == ["combobox", "false", None]
    page.locator("#entity").fill("")
    page.locator("#with").press("Enter")  # nothing is chosen: the form is sent
    page.wait_for_selector(".hit")
    assert page.locator("#with").input_value() == "pneumonia"


def test_of_several_names_the_one_at_the_caret_is_completed(visit, served):
    page = visit(served + NOTES)
    type_into(page, "without", "fever, antib")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    completed = page.locator("#without").input_value()
    assert completed == "fever, antibiotic"
    page.keyboard.press("Home")
    page.keyboard.type(",")
    page.keyboard.press("Home")
    page.keyboard.type("pneu")
    page.wait_for_selector("#without-completions:not([hidden])")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#without").input_value() == f"pneumonia,{completed}"


def test_escape_closes_the_list_and_keeps_what_was_typed(visit, served):
    page = visit(served + NOTES)
    type_into(page, "entity", "pneu")
    page.keyboard.press("Escape")
    assert not page.locator("#entity-completions").is_visible()
    assert page.locator("#entity").input_value() == "pneu"
    page.keyboard.type("m")
    page.keyboard.press("Escape")  # before there is an answer, which is not waited for
    page.wait_for_timeout(600)
    assert not page.locator("#entity-completions").is_visible()
    assert page.locator("#entity").input_value() == "pneum"


def test_a_completion_is_taken_by_pointer_and_leaving_the_field_closes_the_list(visit, served):
    page = visit(served + NOTES)
    type_into(page, "aspect", "hosp")
    page.get_by_role("option", name="hospital course").click()
    assert page.locator("#aspect").input_value() == "hospital course"
    assert page.evaluate("document.activeElement.id") == "aspect"
    type_into(page, "entity", "pneu")
    page.keyboard.press("Tab")
    assert not page.locator("#entity-completions").is_visible()
    assert page.locator("#entity").input_value() == "pneu"


def test_nothing_found_is_announced_and_opens_no_list(visit, served):
    page = visit(served + NOTES)
    page.locator("#entity").click()
    page.keyboard.press("Control+A")
    page.keyboard.type("zzzzz")
    page.locator("#entity ~ [role=status]", has_text="no completion").wait_for(state="attached")
    assert not page.locator("#entity-completions").is_visible()


def test_what_is_typed_is_in_no_address(visit, served):
    page = visit(served + NOTES)
    asked = []
    page.on("request", lambda request: asked.append((request.method, request.url, request.post_data)))
    type_into(page, "with", "pneumo")
    sent = [(method, body) for method, address, body in asked if address == f"{served}/complete"]
    assert [method for method, _ in sent] == ["POST"]
    assert "text=pneumo" in sent[0][1]
    assert not [address for _, address, _ in asked if "pneumo" in address]


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_open_list_is_accessible_and_fits(visit, served, width, scheme):
    page = visit(served + NOTES, width=width, scheme=scheme)
    type_into(page, "with", "pneumonia")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(AUDIT) == []
    box, field = (page.locator(one).bounding_box() for one in ("#with-completions", "#with"))
    assert box["y"] >= field["y"] + field["height"]
    assert (box["x"], box["width"]) == (pytest.approx(field["x"], abs=1), pytest.approx(field["width"], abs=1))
    below = page.locator("#without").bounding_box()
    assert (below["y"] >= box["y"] + box["height"]) == (
        width == 390
    )  # in the flow, where it would cover the next field


def test_without_scripts_the_fields_are_plain_and_search(visit, served):
    page = visit(served + NOTES, scripts=False)
    assert page.locator("#with").get_attribute("role") is None
    page.locator("#entity").fill("")
    page.locator("#with").fill("pneumonia")
    page.get_by_role("button", name="Search", exact=True).click()
    assert page.locator(".hit").count() > 0
