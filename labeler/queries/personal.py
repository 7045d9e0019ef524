"""Personal data in what people type: what kinds a text holds, so that it is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator

_DIGITS = re.compile(r"\d(?:[ \-./()]?\d)+")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_PHONE = re.compile(
    r"(?<![\w.])(?:\+|00)\d[\d \-./()]{5,}\d|\(?\b0\d{1,4}\)?[ \-./]\d[\d \-./]{3,}\d"
)
_LONG = 9
"""Digits in a row, spaces and dashes aside, from which a number may be somebody's."""

_CARD = range(13, 20)


def personal(text: str) -> tuple[str, ...]:
    """The kinds of personal data that a text holds: mail address, handle, card, phone, number.

    >>> personal("invoice of jane.doe@example.org"), personal("iphone 13")
    (('mail address',), ())
    """
    return tuple(dict.fromkeys(_kinds(text)))


def _kinds(text: str) -> Iterator[str]:
    with_at = [word for word in text.split() if "@" in word and word != "@"]
    if any(_is_mail_address(word) for word in with_at):
        yield "mail address"
    elif with_at:
        yield "name with @"
    if _IBAN.search(text):
        yield "bank account"
    if _PHONE.search(text):
        yield "phone number"
    for match in _DIGITS.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        if len(digits) in _CARD and passes_luhn(digits):
            yield "card number"
        elif len(digits) >= _LONG:
            yield "long number"


def _is_mail_address(word: str) -> bool:
    """Whether a word has a name before an @ and a domain after it."""
    *names, domain = word.split("@")
    *_, last = domain.rstrip(".,;:!?)>]\"'").rsplit(".", 1)
    return bool(names[-1]) and "." in domain.strip(".") and len(last) >= 2


def passes_luhn(digits: str) -> bool:
    """Whether digits have the check digit that numbers of cards have.

    >>> passes_luhn("4111111111111111"), passes_luhn("4111111111111112")
    (True, False)
    """
    doubled = (int(d) * (1 + at % 2) for at, d in enumerate(reversed(digits)))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0
