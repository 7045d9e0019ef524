"""Small files made wrong in every way that comes to mind, the same ways each time."""

import gzip
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from labeler.errors import BadInput, LabelerError

Mutate = Callable[[random.Random, bytes], bytes]

DEEP = 3000
ODD_VALUES = (
    *b"null true -1 0 0.5 -0.0 1e999 NaN -Infinity 1e-999 2147483648 9223372036854775808".split(),
    *(b"9" * 400, b"9" * 5000, b"-" + b"9" * 400, b'"' + b"y" * 5000 + b'"', b'" "'),
    *rb'"" "x" "\u0000" "\ud800" "a\u2028b" "../../x" [] {} [1] {"a":1} [["a"]]'.split(),
    *(b"[" * DEEP + b"]" * DEEP, b'{"a":' * DEEP + b"1" + b"}" * DEEP, b"[" * DEEP),
    *"' 0x10 1_000 +1 ٣ 1. .5 1e5 01".encode().split(),
)
ODD_BYTES = (
    *(b"\xff", b"\xe9", b"\0", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b"),
    *(b"\r", b"\n", b"\r\n", b"\t", b" ", b"  ", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"\x7f"),
    *("\u2028".encode(), "\u3000".encode(), "\U0001f431".encode(), b"\x1b[31m", b"\\ud800"),
    *(bytes([character]) for character in b"\"'#,;:{[\\%=+-"),
)
_TOKEN = re.compile(rb'"(?:[^"\\\n]|\\.)*"|-?[0-9][0-9.eE+-]*|[A-Za-z_][\w.-]*')
_ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "cp037")


def _flip(r: random.Random, data: bytes) -> bytes:
    at = r.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << r.randrange(8)]) + data[at + 1 :]


def _cut(r: random.Random, data: bytes) -> bytes:
    return data[: r.randrange(len(data))]


def _remove(r: random.Random, data: bytes) -> bytes:
    at = r.randrange(len(data))
    return data[:at] + data[at + r.randrange(1, 20) :]


def _insert(r: random.Random, data: bytes) -> bytes:
    at = r.randrange(len(data) + 1)
    return data[:at] + r.choice(ODD_BYTES) * r.choice((1, 1, 1, 2, 50)) + data[at:]


def _another_value(r: random.Random, data: bytes) -> bytes:
    tokens = list(_TOKEN.finditer(data))
    if not tokens:
        return _insert(r, data)
    token = r.choice(tokens)
    value = r.choice(ODD_VALUES if r.random() < 0.8 else [t[0] for t in tokens])
    return data[: token.start()] + value + data[token.end() :]


def _lines_again(r: random.Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    lines.insert(r.randrange(len(lines)), r.choice(lines))
    return b"".join(lines)


def _fields_again(r: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    at = r.randrange(len(lines))
    for separator in r.sample((b", ", b",", b"\t", b" "), 4):
        fields = lines[at].split(separator)
        if len(fields) > 1:
            fields.insert(r.randrange(len(fields)), r.choice(fields))
            lines[at] = separator.join(fields)
            break
    return b"\n".join(lines)


def _shuffled_fields(r: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    at = r.randrange(len(lines))
    fields = re.split(rb"([,\t ])", lines[at])
    r.shuffle(fields)
    lines[at] = b"".join(fields)
    return b"\n".join(lines)


def _encoded(r: random.Random, data: bytes) -> bytes:
    return data.decode("utf-8", "replace").encode(r.choice(_ENCODINGS), "replace")


def _packed(r: random.Random, data: bytes) -> bytes:
    packed = gzip.compress(data, mtime=0)
    return r.choice((lambda: packed, lambda: _flip(r, packed), lambda: _cut(r, packed)))()


def _other_ends(_r: random.Random, data: bytes) -> bytes:
    return data.replace(b"\n", b"\r\n")


def _marked(r: random.Random, data: bytes) -> bytes:
    return r.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b", b"PK\3\4")) + data


def _junk(r: random.Random, _data: bytes) -> bytes:
    return r.choice(
        (b"", b"\n", b" ", b"\0" * 9, r.randbytes(50), b"[" * 10**5, b"{}", b"[]", b"3")
    )


MUTATIONS: tuple[Mutate, ...] = (
    *[_another_value] * 6, *[_insert] * 3, _flip, _flip, _cut, _remove, _lines_again, _fields_again,
    _shuffled_fields, _encoded, _packed, _other_ends, _marked, _junk,
)  # fmt: skip


def mutants(data: bytes, count: int, seed: int = 0) -> Iterator[bytes]:
    """The data made wrong in one to three ways, `count` times."""
    r = random.Random(seed)
    for _ in range(count):
        mutant = data
        for _ in range(r.choice((1, 1, 1, 2, 3))):
            mutant = r.choice(MUTATIONS)(r, mutant) if mutant else mutant
        yield mutant


def refused(path: Path, read: Callable[[], object], also: Sequence[Path] = ()) -> object:
    """What a reader reads, or its error, which must be ours, on one line, and name a file."""
    try:
        return read()
    except LabelerError as error:
        text = str(error)
        assert any(str(name) in text for name in (path, *also)), text
        assert "\n" not in text, text
        assert len(text) < 1000 + len(str(path)), text
        return BadInput(text)
