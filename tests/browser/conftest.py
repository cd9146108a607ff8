"""A headless Chromium for the tests of pages; they skip where there is none."""

import shutil

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def chromium():
    api = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed"
    )
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser is installed (looked for {', '.join(BROWSERS)})")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """Open an address; an error on the console fails the test when it ends."""
    contexts, said = [], []

    def open_it(address, *, width=1280, **options):
        size = {"width": width, "height": 900}
        contexts.append(chromium.new_context(viewport=size, **options))
        page = contexts[-1].new_page()
        page.on("console", lambda m: said.append(m.text) if m.type == "error" else 0)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(f"dialog {dialog.message}"))
        page.goto(address)
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert said == []
