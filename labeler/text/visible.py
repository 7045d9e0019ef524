r"""Texts as a model should see them: what people would not see is written out, as `\u202e`.

A document can hold text that a reader never sees: control characters, characters of no width, tags
that spell a message, orders of direction. What Persian, the scripts of India and emoji need stays:
one joiner between the letters that it joins, one choice of form behind a character that has forms.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from functools import lru_cache
from unicodedata import bidirectional

_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")

_WITH_JOINERS = re.compile(
    "[\u0600-\u08ff\ufb50-\ufdff\ufe70-\ufefc"  # Arabic, Syriac, Thaana, N'Ko and their forms
    "\u0900-\u109f\u1780-\u18af\u1a20-\u1aaf\ua9e0-\ua9ff\uaa60-\uaa7f"  # Devanagari to Mongolian
    "\U00011000-\U00011fff]"  # further scripts of India
)
"""Letters of scripts that part words or choose forms of letters by characters of no width."""

_PICTURE = re.compile(
    "[\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299"
    "\ufe0f\U0001f000-\U0001faff]"
)
_JOINERS = "\u200b\u200c\u200d"
_DIRECTIONS = "\u200e\u200f\u061c"
_SOFT_HYPHEN = "\xad"
_HAN = "\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WITH_VARIANT = re.compile(
    "[#*0-9\xa9\xae][\ufe00\ufe0e\ufe0f]"
    "|[\u1800-\u18af][\u180b-\u180d\u180f]"  # Mongolian
    "|[\u1000-\u109f\ua840-\ua87f\U00010ac0-\U00010aff]\ufe00"  # Myanmar, Phags-pa, Manichaean
    "|[\U00013000-\U000143ff][\ufe00-\ufe06]"  # Egyptian
    f"|[\u2030-\u33ff\uff01-\uff60\U0001f000-\U0001faff{_HAN}][\ufe00-\ufe02\ufe0e\ufe0f]"
    f"|[{_HAN}][\U000e0100-\U000e01ef]"
)
"""Characters with one behind them that chooses their form; behind others it could only hide."""
_PARTS_OF_BRITAIN = ("eng", "sct", "wls")
"""The only flags that are spelled in tags; in others a text could hide."""
_UNSEEN_CHARACTERS = (
    "\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_FLAG = "\U0001f3f4\U000e0067\U000e0062(?:{})\U000e007f".format(
    "|".join("".join(chr(0xE0000 + ord(letter)) for letter in part) for part in _PARTS_OF_BRITAIN)
)
_UNSEEN = re.compile(f"{_FLAG}|[{_UNSEEN_CHARACTERS}]")
_TO_CHANGE = re.compile(f"[\r\x0b\x0c\u2028\u2029{_UNSEEN_CHARACTERS}]")
"""A set alone, which is looked for several times as fast."""
_SEEN = bytes((*b"\t\n", *range(0x20, 0x7F)))
"""The characters of ASCII that stay as they are."""


def visible(text: str) -> str:
    r"""The text with what cannot be seen written out, and every end of a line as `\n`.

    >>> visible("gra\u200bde 3"), visible("می\u200cروم")
    ('gra\\u200bde 3', 'می\u200cروم')
    """
    if not _has_unseen(text):
        return text
    return _UNSEEN.sub(
        lambda match: match[0] if _spells(match) else ascii(match[0])[1:-1],
        _LINE_ENDS.sub("\n", text),
    )


def hidden_characters(text: str) -> int:
    """How many characters of a text `visible` writes out."""
    if not _has_unseen(text):
        return 0
    return sum(not _spells(match) for match in _UNSEEN.finditer(_LINE_ENDS.sub("\n", text)))


def _has_unseen(text: str) -> bool:
    """Whether anything in a text is to be changed; of ASCII that is told several times as fast."""
    if text.isascii():
        return bool(text.encode().translate(None, _SEEN))
    return bool(_TO_CHANGE.search(text))


def _spells(match: re.Match[str]) -> bool:
    """Whether what is not seen belongs to the letters or the pictures beside it."""
    unseen = match[0]
    text = match.string
    before = text[max(0, match.start() - 1) : match.start()]
    after = text[match.end() : match.end() + 1]
    if len(unseen) > 1:
        return True
    if unseen in _JOINERS and _WITH_JOINERS.match(before):
        return not after or after.isspace() or bool(_WITH_JOINERS.match(after))
    if unseen == "\u200d":
        return bool(_PICTURE.match(before) and _PICTURE.match(after))
    if unseen in _DIRECTIONS:
        is_beside_one = not {before, after}.isdisjoint(_DIRECTIONS)
        # between letters or digits from left to right no direction changes
        runs_on = all(side and bidirectional(side) in {"L", "EN"} for side in (before, after))
        return not (is_beside_one or runs_on)
    if unseen == _SOFT_HYPHEN:
        return before.isalpha() and after.isalpha()
    return bool(_WITH_VARIANT.match(before + unseen))


def bounded(text: str, most: int | None) -> str:
    """The first `most` characters of a text, and how many are left out, where there are more."""
    if most is None or len(text) <= most:
        return text
    return (
        f"{text[:most]}\n[cut here: {len(text) - most:,} of {len(text):,} characters are not shown]"
    )


# Marks round a document in a prompt, which whoever writes documents cannot guess.

MARK_DIGITS = 12
"""Hexadecimal digits of a mark; a document has one guess, of 1 in 2^48."""


def mark_of(secret: bytes, *texts: str, digits: int = MARK_DIGITS) -> str:
    """The mark for a prompt that shows these texts: the same for the same texts and secret.

    It is an HMAC-SHA256 of the texts, so that one that was seen says nothing of another one. None
    of the texts contains it.
    """
    parts = [text.encode("utf-8", "surrogatepass") for text in texts]
    shown = b"".join(b"%d:%s" % (len(part), part) for part in parts)  # no other texts join to it
    for turn in range(1000):
        keyed = _keyed(secret).copy()
        keyed.update(b"%d\0%s" % (turn, shown))
        mark = keyed.hexdigest()[:digits]
        if not any(mark in text for text in texts):
            break
    return mark


@lru_cache(8)
def _keyed(secret: bytes) -> hmac.HMAC:
    """An HMAC that begins with a secret: to begin one takes as long as hashing a short text."""
    return hmac.new(secret, digestmod=hashlib.sha256)
