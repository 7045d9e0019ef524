"""Decode text, or say in one line why that is impossible and what would help."""

from __future__ import annotations

from pathlib import Path

from labeler.errors import BadInput

_OTHER_UNICODE = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


def decoded(path: Path, raw: bytes) -> str:
    """Decode a file's bytes, without a byte-order mark; `BadInput` where they are not UTF-8."""
    refuse_other_encodings(path, raw)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{raw[error.start]:02x}"
        hint = f"where it is Latin-1, {_convert('latin1', path)}"
        raise BadInput.at(path, line, f"not UTF-8 ({byte}); {hint}") from error
    if not text.strip():
        raise BadInput(f"{path}: empty")
    return text


def refuse_other_encodings(path: Path, raw: bytes) -> None:
    """`BadInput` where a file's first bytes are another encoding's, or no text's at all."""
    for mark, encoding in _OTHER_UNICODE.items():
        if raw.startswith(mark):
            raise BadInput(f"{path}: {encoding}, not UTF-8; {_convert(encoding, path)}")
    if b"\0" in raw:
        raise BadInput(f"{path}: not a text file (it holds NUL bytes)")


def _convert(encoding: str, path: Path) -> str:
    return f"this converts it: iconv -f {encoding} -t utf-8 '{path.name}' > 'utf8-{path.name}'"
