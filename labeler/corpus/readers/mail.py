"""Messages of mail (EML) and pages that a browser saved with all that they show (MHTML)."""

from __future__ import annotations

from collections.abc import Sequence
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path

from labeler.corpus.losses import AS_HTML, SCRIPTS, drop
from labeler.corpus.readers.html import add_html
from labeler.corpus.readers.outline import Extracted, Outline, finished, read_plaintext
from labeler.errors import BadInput
from labeler.messages import squeezed


def read_mail(
    path: Path, raw: bytes, headers: Sequence[str] = ("From", "To", "Cc", "Date")
) -> Extracted:
    """A message under its subject: who wrote it, and its text; attachments are not read.

    A saved page is a message of which no headers are shown, without its pictures and styles.
    """
    message = BytesParser(policy=policy.default).parsebytes(raw)
    if not isinstance(message, EmailMessage) or not message.keys():
        raise BadInput(f"{path}: no message: it begins with no header")
    outline = Outline()
    lines = (f"{name}: {message[name]}" for name in headers if message[name])
    outline.prose("\n".join(map(squeezed, lines)), 1)
    has_plain = message.get_body(("plain",)) is not None  # be it beside HTML
    for part in message.walk():
        _add_part(outline, part, has_plain)
    return finished(path, str(message["Subject"] or ""), outline)


def _add_part(outline: Outline, part: EmailMessage, has_plain: bool) -> None:
    """Add the text of a part; one of another kind, or in a file of its own, is noted."""
    kind = part.get_content_type()
    if part.is_multipart():
        return
    if part.is_attachment() or part.get_content_maintype() != "text":
        name = part.get_filename() or part.get("Content-Location") or kind
        drop("attachments and pictures", str(name))
        return
    text = _text_of(part)
    if kind == "text/plain":
        outline.blocks += read_plaintext(text)[1]
    elif kind == "text/html" and not has_plain:
        add_html(text, outline)
    else:
        drop(AS_HTML if kind == "text/html" else SCRIPTS, text)


def _text_of(part: EmailMessage) -> str:
    """The text of a part by the encoding that it names, if that is one, else as UTF-8."""
    raw = part.get_payload(decode=True)
    content = raw if isinstance(raw, bytes) else b""
    try:
        text = content.decode(part.get_content_charset("utf-8"), "replace")
    except LookupError:
        text = content.decode("utf-8", "replace")
    return text.replace("\r\n", "\n")
