"""Slips of the keyboard, made by a seed: a letter dropped, doubled, swapped or hit beside."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_WORD = re.compile(r"[^\W\d_]{4,}")
_BESIDE = {
    key: "".join(row[at] for at in (column - 1, column + 1) if 0 <= at < len(row))
    for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm")
    for column, key in enumerate(row)
}
"""The letters to the left and the right of each, on a QWERTY keyboard."""


def _dropped(word: str, at: int, _chance: random.Random) -> str:
    return word[:at] + word[at + 1 :]


def _doubled(word: str, at: int, _chance: random.Random) -> str:
    return word[: at + 1] + word[at:]


def _swapped(word: str, at: int, _chance: random.Random) -> str:
    return word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]


def _beside(word: str, at: int, chance: random.Random) -> str:
    keys = _BESIDE.get(word[at].lower(), "")
    return word[:at] + chance.choice(keys) + word[at + 1 :] if keys else word


_SLIPS: tuple[Callable[[str, int, random.Random], str], ...] = (
    *(_dropped, _doubled, _swapped, _beside),
)


def with_typos(text: str, seed: str) -> str:
    """The text with a slip in one word, or in two of a longer one; as it is where no word is long.

    The first letter of a word is hit right, as people do.

    >>> with_typos("usb hub", "0")
    'usb hub'
    """
    chance = random.Random(seed)
    places = list(_WORD.finditer(text))
    slips = min(len(places), 1 if len(places) < 4 else 2)
    for match in sorted(chance.sample(places, slips), key=lambda m: -m.start()):
        word = _slipped(match[0], chance)
        text = text[: match.start()] + word + text[match.end() :]
    return text


def _slipped(word: str, chance: random.Random) -> str:
    for _ in range(20):
        changed = chance.choice(_SLIPS)(word, chance.randrange(1, len(word)), chance)
        if changed != word:
            return changed
    return _doubled(word, 1, chance)
