"""The browser that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.browser import Page, find_browser, open_page


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    browser = find_browser()
    if not browser:
        pytest.fail("there is no browser")
    with open_page(browser) as opened:
        yield opened
