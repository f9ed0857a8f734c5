# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The browser that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.browser import Page, find_browser, open_page


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    browser = find_browser()
    if not browser:
        pytest.skip("there is no browser")
    with open_page(browser) as opened:
        yield opened
