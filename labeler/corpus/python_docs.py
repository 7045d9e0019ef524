"""Documents that are on most Python machines: the topics of the language's reference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from labeler.errors import Misconfigured, Misuse
from labeler.files.atomic import replacing

_LONGEST = 40_000
"""Characters; two topics are longer, and hold a third of all passages."""


def _topics() -> Iterator[tuple[str, str]]:
    """Yield the reference topics, without those that are part of a longer one."""
    try:
        from pydoc_data.topics import topics
    except ImportError as error:  # some distributions leave it out
        raise Misconfigured(
            "this Python comes without pydoc_data, its own documentation; build a collection from "
            "yours"
        ) from error
    for name, text in sorted(topics.items()):
        middle = text[len(text) // 2 :][:200]
        longer = (o for key, o in topics.items() if (len(o), key) > (len(text), name))
        if len(text) <= _LONGEST and not any(middle in text for text in longer):
            yield f"reference/{name}.rst", text.strip() + "\n"


def write_python_documents(folder: Path, *, force: bool = False) -> Path:
    """Write this Python's documentation as files in a folder, which is returned.

    A file that holds something else is replaced with `force` alone.
    """
    documents = dict(_topics())
    for name, text in documents.items():
        path = folder / name
        if not force and path.exists() and path.read_bytes() != text.encode():
            raise Misuse(
                f"{path} is not of the demo; choose another directory, or set this to replace it",
                parameter="force",
            )
    for name, text in documents.items():
        with replacing(folder / name) as out:
            out.write(text)
    return folder
