"""A headless Chromium for the tests of pages; they skip where there is none.

With PATCHFOLD_NEED_BROWSER=1, as in CI, they fail instead.
"""

import os
import shutil
from pathlib import Path

import pytest
from helpers.pages import PATIENCE

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def launch():
    """Start a browser, with flags of its own."""
    without = pytest.fail if os.environ.get("PATCHFOLD_NEED_BROWSER") else pytest.skip
    try:
        from playwright import sync_api as api
    except ImportError:
        without("Playwright is not installed")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        without(f"no browser is installed (looked for {', '.join(BROWSERS)})")
    with api.sync_playwright() as playwright:

        def start(*flags):
            return playwright.chromium.launch(
                executable_path=found,
                timeout=1000 * PATIENCE,
                # Containers often have little shared memory.
                args=["--no-sandbox", "--disable-dev-shm-usage", *flags],
            )

        yield start


@pytest.fixture(scope="session")
def chromium(launch):
    browser = launch()
    yield browser
    browser.close()


def watched_pages(chromium):
    """Open addresses; an error on a console fails the test when all is closed."""
    contexts, said = [], []

    def open_it(
        address, *, width=1280, browser=chromium, script=None, forgive=(), **options
    ):
        def hear(message):
            about = message.location["url"]
            if message.type == "error" and not any(part in about for part in forgive):
                said.append(f"{message.text} {about}")

        size = {"width": width, "height": 900}
        contexts.append(browser.new_context(viewport=size, **options))
        contexts[-1].set_default_timeout(1000 * PATIENCE)
        page = contexts[-1].new_page()
        if script is not None:
            page.add_init_script(path=script)
        page.on("console", hear)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(f"dialog {dialog.message}"))
        page.goto(address)
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert said == []


open_page = pytest.fixture(watched_pages)
open_shared_page = pytest.fixture(watched_pages, scope="module")
"""For pages that take long to draw: the tests of a file leave them as they were."""

AXE = Path(__file__).parents[2] / "node_modules/axe-core/axe.min.js"


@pytest.fixture
def violations():
    """Return what axe-core finds wrong on a page, everything on it unfolded."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed (npm install --no-save axe-core)")

    def find(page):
        for details in page.locator("details").all():
            details.evaluate("part => { part.open = true; }")
        page.add_script_tag(path=AXE)
        found = page.evaluate("axe.run()")["violations"]
        return [(each["id"], each["nodes"][0]["html"]) for each in found]

    return find
