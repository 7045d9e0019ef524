"""EPUB: a book's chapters in the order of its spine, each read as HTML."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from labeler.corpus.losses import AROUND, drop
from labeler.corpus.readers.html import add_html, text_of_page
from labeler.corpus.readers.outline import Extracted, Outline, finished
from labeler.errors import BadInput
from labeler.files.archives import opened, refuse_long

_CONTAINER = "META-INF/container.xml"
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")


def read_epub(path: Path, raw: bytes) -> Extracted:
    """The book's title and the text of its chapters, without its tables of contents."""
    outline = Outline()
    size = 0
    with opened(path, raw) as archive:
        root = archive.tree(_CONTAINER).find(".//{*}rootfile")
        book = unquote(root.get("full-path") or "") if root is not None else ""
        if not book:  # the name of the part that lists the others
            raise BadInput(f"{path}: damaged: {_CONTAINER} names no package")
        package = archive.tree(book)
        if "META-INF/encryption.xml" in archive.names:
            raise BadInput(f"{path}: encrypted (DRM); a copy without it can be read")
        for name in dict.fromkeys(_chapters(package, posixpath.dirname(book))):
            page = archive.part(name)
            size += len(page)
            refuse_long(path, size)
            if page.strip():
                add_html(text_of_page(path, page), outline, is_text=True)
    return finished(path, package.findtext(".//{*}metadata/{*}title") or "", outline)


def _chapters(package: Element, folder: str) -> Iterator[str]:
    """The names of the parts that are pages, in the order in which the book is read."""
    items = {item.get("id"): item for item in package.iterfind(".//{*}manifest/{*}item")}
    for reference in package.iterfind(".//{*}spine/{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is None or item.get("media-type") not in _PAGES:
            continue
        if "nav" in (item.get("properties") or "").split():
            drop(AROUND, str(item.get("href")))
        else:
            yield posixpath.normpath(posixpath.join(folder, unquote(item.get("href") or "")))
