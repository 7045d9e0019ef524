"""The palette: contrasts by WCAG 2.2, in light and in dark, and as people see it who lack a cone.

Simulated after Machado, Oliveira and Fernandes (2009), IEEE TVCG 15(6), at full severity.
"""

import math
import re
from itertools import combinations

import numpy as np
import pytest

from labeler.report.page import style

Color = tuple[float, float, float]
TEXT, GRAPHICS = 4.5, 3.0
"""The least contrasts of level AA: of words, and of what must be seen in a picture."""

APART = 18.0
"""The least distance of two colors in CIE L*a*b*, where one of about 2 is just noticeable."""

READ = [
    *(("ink", "paper"), ("soft", "paper"), ("blue", "paper"), ("red", "paper")),
    *(("ink", "panel"), ("soft", "panel"), ("red", "panel")),
    *(("paper", color) for color in ("blue", "red", "green", "purple")),
]
SEEN = [(color, "paper") for color in ("blue", "red", "green", "purple", "soft", "ink")]
LACKING = {
    "none": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}


def palette(scheme: str) -> dict[str, Color]:
    """The colors by name, as a browser has them in a scheme."""
    found = re.findall(r"--(\w+): (?:light-dark\((#\w{6}), (#\w{6})\)|(#\w{6}))", style())
    colors = {}
    for name, light, dark, alone in found:
        text = alone or (light if scheme == "light" else dark)
        colors[name] = tuple(int(text[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return colors  # type: ignore[return-value]


def linear(color: Color) -> np.ndarray:
    return np.array([c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color])


def luminance(color: Color) -> float:
    return float(linear(color) @ np.array([0.2126, 0.7152, 0.0722]))


def contrast(a: Color, b: Color) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def lab(light: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of linear sRGB, white D65."""
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    xyz = to_xyz @ np.clip(light, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_and_marks_have_the_contrast_that_wcag_asks_for(scheme: str) -> None:
    colors = palette(scheme)
    for least, pairs in ((TEXT, READ), (GRAPHICS, SEEN)):
        low = {pair: contrast(colors[pair[0]], colors[pair[1]]) for pair in pairs}
        assert {pair: round(c, 2) for pair, c in low.items() if c < least} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("lacking", LACKING)
def test_colors_of_a_chart_stay_apart_for_who_lacks_a_cone(scheme: str, lacking: str) -> None:
    colors, seen = palette(scheme), LACKING[lacking]
    sides = {name: lab(seen @ linear(colors[name])) for name in ("blue", "red", "green", "purple")}
    apart = {(a, b): round(math.dist(sides[a], sides[b]), 1) for a, b in combinations(sides, 2)}
    assert {pair: far for pair, far in apart.items() if far < APART} == {}


def test_every_color_of_a_page_comes_from_the_palette() -> None:
    rules = re.sub(r"--\w+: [^;}]*", "", style())
    assert re.findall(r"#[0-9a-f]{3,8}\b", rules.replace("light-dark(#000, #fff)", "")) == []
