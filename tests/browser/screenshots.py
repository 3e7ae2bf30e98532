"""Pictures of a running portal, light and dark, narrow and wide: `python tests/browser/screenshots.py ADDRESS FOLDER`.

The portal must hold the demo collections. Prints what a page logs, and which pages are wider than their window.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HEADLINE = (
    "/search?collection=demo-abstracts&text=Healthy+seniors+told%3A+your+daily+aspirin+may+do+more+harm+than+good"
)
NOTES = "/search?collection=demo-notes&text=pneumonia+without+pleural+effusion+on+chest+X-ray"
ADDRESSES = {
    "start": "/",
    "hits": HEADLINE,
    "explained": HEADLINE,
    "quick": f"{HEADLINE}+they+say&deadline_ms=150",
    "notes": f"{NOTES}&filter.type=Radiology+report",
    "document": NOTES,
    "nothing": "/search?collection=demo-notes&text=zzzz&filter.type=Nothing",
}


def prepare(page: Page, name: str) -> None:
    if name == "explained":
        page.locator(".why summary").first.click()
    elif name == "document":
        page.locator(".hit h3 a").first.click()
        page.wait_for_load_state()


def shoot(page: Page, address: str, name: str, file: Path) -> None:
    page.on("console", lambda message: print(f"{file.name}: {message.text}"))  # noqa: T201 - this is what it prints
    page.goto(address)
    prepare(page, name)
    if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
        print(f"{file.name}: wider than the window")  # noqa: T201
    page.screenshot(path=file)


def main(address: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=next(filter(None, map(shutil.which, BROWSERS))), args=ARGUMENTS
        )
        for name, path in ADDRESSES.items():
            for scheme in ("light", "dark"):
                for width in (390, 1280):
                    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
                    context.set_default_timeout(120_000)
                    shoot(context.new_page(), address + path, name, folder / f"{name}-{scheme}-{width}.png")
                    context.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
