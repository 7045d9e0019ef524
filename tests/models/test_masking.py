"""A key is masked in every spelling that a server echoes, and work grows with the body alone."""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote

import pytest
from every_row import every_row

from labeler.wire.masking import hidden, without_key

KEY = "sk-Canary?7d1F~0a>>>/x"


def percent(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


def in_json(text: str) -> str:
    return "".join(f"\\u{ord(c):04x}" for c in text)


SPELLINGS = {
    "plain": KEY,
    "upper case": KEY.upper(),
    "swapped case": KEY.swapcase(),
    "hex": KEY.encode().hex(),
    "upper hex": KEY.encode().hex().upper(),
    "percent": quote(KEY, safe=""),
    "all percent": percent(KEY),
    "upper percent": percent(KEY).upper(),
    "percent twice": quote(quote(KEY, safe=""), safe=""),
    "reversed": KEY[::-1],
    "reversed upper": KEY[::-1].upper(),
    "JSON escapes": in_json(KEY).upper().replace("U", "u"),
    "JSON escapes twice": "".join(f"\\\\u{ord(c):04x}" for c in KEY),
    "hex escapes": "".join(f"\\\\x{ord(c):02x}" for c in KEY),
    "slashes": KEY.replace("/", "\\/"),
    **{
        f"{name} at {len(before)}, {len(after)} after": encode(
            (before + KEY + after).encode()
        ).decode()
        for name, encode in (("base64", b64encode), ("base64 of addresses", urlsafe_b64encode))
        for before in ("", "a", "ab", "user:")
        for after in ("", "z", "zz", ":password")
    },
    "base64, slashes escaped": b64encode(f"a{KEY}".encode()).decode().replace("/", "\\/"),
    "after an escape": "\\u003c" + b64encode(KEY.encode()).decode(),
}


@every_row("spelling", SPELLINGS.values())
@every_row("around", ["{}", "you sent: {}.", "\\n{}\\n", "x{}x"])
def test_a_key_is_masked_in_every_spelling_and_json_stays_json(spelling: str, around: str) -> None:
    said = around.replace("{}", spelling)
    body = f'{{"choices": [{{"message": {{"content": "{said}"}}}}], "model": "{spelling}"}}'
    masked = without_key(body.encode(), KEY)
    answer = json.loads(masked)
    assert "[key]" in answer["choices"][0]["message"]["content"]
    assert "[key]" in answer["model"]
    assert spelling.encode() not in masked
    assert json.loads(f'"{spelling}"') not in json.dumps(answer, ensure_ascii=False)
    assert "[key]" in hidden(spelling, KEY)


@every_row("before", ["", "a", "ab", "abc"])
@every_row("after", ["", "z", "zz", "zzz"])
def test_what_is_left_of_base64_holds_no_bit_of_the_key(before: str, after: str) -> None:
    def left(key: str, escaped: Callable[[str], str]) -> str:
        spelled = b64encode(f"{before}{key}{after}".encode()).decode()
        return hidden(f"<{escaped(spelled)}>", key).replace("%3d", "").replace("\\u003d", "")

    other = "".join(chr(127 - ord(c)) for c in KEY)
    for escaped in (str, percent, in_json):
        assert left(KEY, escaped) == left(other, escaped)


@every_row("escaped", [str, percent, in_json, lambda text: json.dumps(json.dumps(text))])
@every_row("key", ['sk"ab\\cD\\9x', "\\uAB%41\\\\x41", 'A"""""""B'])
def test_a_key_with_characters_that_escape_is_masked(
    key: str, escaped: Callable[[str], str]
) -> None:
    for spelling in (key, key.swapcase(), key[::-1]):
        assert "[key]" in hidden(f"<{escaped(spelling)}>", key)


@pytest.mark.parametrize("body", ['{"a": "nothing here"}', '{"a": "100 % \\u00e9 \\\\ sk-"}', ""])
def test_a_body_without_the_key_is_as_it_was(body: str) -> None:
    assert without_key(body.encode(), KEY) == body.encode()


REPEATED = ("\\", "%25", "%", "s", "A\\", "c2st", "sk-canary", KEY[:-1], "\\u0073", "73", "\\/")


@pytest.mark.sweep
@pytest.mark.parametrize("unit", REPEATED)
def test_masking_ends_on_what_might_be_retried_from_everywhere(unit: str) -> None:
    """A body of a megabyte, on which quadratic work would not end while anybody waits."""
    body = f"{unit * (1_000_000 // len(unit))}\\u2019".encode()
    assert without_key(body, KEY) == body
