"""Single letters as keys, in a real browser: their list, and the switch that turns them off."""

from pathlib import Path

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AUDIT = (Path(__file__).parent / "audit.js").read_text()
HITS = "/search?collection=notes&text=pneumonia"


def focused(page):
    return page.evaluate("document.activeElement.id || document.activeElement.tagName")


def test_the_keys_are_listed_switched_off_and_stay_off(visit, served):
    page = visit(served + HITS)
    page.keyboard.press("?")
    assert "next and previous hit" in page.locator("#keys").inner_text()
    page.keyboard.press("/")
    assert focused(page) != "text"
    page.get_by_label("Use keys of a single character").uncheck()
    page.keyboard.press("Escape")
    for key in ("?", "/", "j", "k", "f"):
        page.keyboard.press(key)
        assert focused(page) not in ("text", "A"), key
    assert not page.locator("#keys").is_visible()
    assert not page.locator(".keys").is_visible()
    page.reload()
    page.keyboard.press("/")
    assert focused(page) != "text"
    page.get_by_role("button", name="Keys").click()
    assert not page.locator("#keys-on").is_checked()
    page.locator("#keys-on").check()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("/")
    assert focused(page) == "text"


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_list_of_keys_is_accessible(visit, served, scheme, width):
    page = visit(served + HITS, width=width, scheme=scheme)
    page.get_by_role("button", name="Keys").click()
    assert page.evaluate(AUDIT) == []


def test_without_scripts_there_is_nothing_to_switch(visit, served):
    page = visit(served + HITS, scripts=False)
    assert not page.locator("#show-keys").is_visible()
    assert not page.locator("#keys").is_visible()
