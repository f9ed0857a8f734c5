# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The colours of the role capacity_report. tests/browser looks at the rest of its page."""

from __future__ import annotations

import re

import pytest

from support.collection import ROOT

STYLE = (ROOT / "roles" / "capacity_report" / "templates" / "capacity_report.css").read_text(encoding="utf-8")
SCHEMES = [dict(re.findall(r"--(\w+): (#\w+);", block)) for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)]


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as WCAG 2 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[position : position + 2], 16) / 255 for position in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", SCHEMES, ids=["light", "dark"])
def test_texts_and_bars_have_the_contrast_of_wcag_aa(scheme: dict[str, str]) -> None:
    for text in ("text", "muted", "warn", "bad"):
        for background in ("page", "card"):
            assert contrast(scheme[text], scheme[background]) >= 4.5, (text, background)
    for colour in ("ok", "warn", "bad"):
        assert contrast(scheme[colour], scheme["track"]) >= 3, colour
