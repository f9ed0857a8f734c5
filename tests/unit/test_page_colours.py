"""The colours of the pages of roles and of the simulator. tests/browser tests their contents."""

from __future__ import annotations

import re

import pytest

from support.collection import ROOT

STYLES = ("plugins/plugin_utils/_pages/page_style.py", "tests/simulator/http/page.html")


def read_schemes(path: str) -> list[dict[str, str]]:
    """Return the light and the dark colours of a style, by name."""
    blocks = re.findall(r":root \{(.*?)\}", (ROOT / path).read_text(encoding="utf-8"), re.DOTALL)
    return [dict(re.findall(r"--(\w+): (#\w+);", block)) for block in blocks]


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


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("path", STYLES)
def test_texts_and_bars_have_the_contrast_of_wcag_aa(path: str, dark: bool) -> None:
    scheme = read_schemes(path)[dark]
    for text in {"text", "muted", "ok", "warn", "bad", "link"} & set(scheme):
        for background in ("page", "card"):
            assert contrast(scheme[text], scheme[background]) >= 4.5, (text, background)
    for colour in ("ok", "warn", "bad"):
        assert contrast(scheme[colour], scheme.get("track", scheme["page"])) >= 3, colour
