"""Pages in a browser, on machines that may be busy."""

PATIENCE = 120
"""Seconds that a page may take for what it is asked to do; on a busy machine, some."""


def until(page, check):
    """Wait until the page is as it should be."""
    for _ in range(10 * PATIENCE):
        if check():
            return
        page.wait_for_timeout(100)
    assert check()
