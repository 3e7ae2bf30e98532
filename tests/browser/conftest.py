"""A real browser and a real server. In every test the console must stay free of errors and no request leave the origin."""

import shutil

import pytest
from playwright.sync_api import sync_playwright
from portal_home import fill, serve

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def portal_folder(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("portal"))


@pytest.fixture(scope="session")
def served(portal_folder):
    """The address of a portal without tokens."""
    yield from serve(portal_folder)


@pytest.fixture
def guarded(portal_folder, tmp_path):
    """(address, home) of a portal where a test can make tokens."""
    home = shutil.copytree(portal_folder, tmp_path / "home")
    for address in serve(home):
        yield address, home


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=next(filter(None, map(shutil.which, BROWSERS))), args=ARGUMENTS
        )
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium):
    """Opens a page in a context of its own: `visit(address, width=..., scheme=..., scripts=...)`."""
    contexts, faults = [], []

    def watch(page, origin):
        page.on(
            "console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(origin) else faults.append(request.url))

    def opened(address, width=1280, scheme="light", scripts=True):
        context = chromium.new_context(
            viewport={"width": width, "height": 844},
            color_scheme=scheme,
            java_script_enabled=scripts,
            reduced_motion="reduce",
        )
        context.set_default_timeout(60_000)  # the machine may be busy with other things
        contexts.append(context)
        page = context.new_page()
        watch(page, "/".join(address.split("/")[:3]))
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []
