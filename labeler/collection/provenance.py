"""Which files of a collection its own commands wrote, so that they replace no others.

The card's section `files` holds the SHA-256 of each, and an empty text while one is being written:
after a kill in between, the file belongs to the command that wrote it, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from labeler.collection.card import card_section, read_card, update_card
from labeler.collection.layout import Collection
from labeler.errors import Misuse
from labeler.files.cache import sha256_of
from labeler.files.read import file_problems

SECTION = "files"
_BEING_WRITTEN = ""


def check_made(collection: Collection, paths: Iterable[Path]) -> None:
    """`Misuse` names a file of the collection that is there and that no command of its own wrote.

    An empty file may be replaced.
    """
    card = read_card(collection)
    for path in paths:
        with file_problems(path):
            if path.exists() and path.stat().st_size and not _is_made(collection, path, card):
                problem = "was not written by this command, or was changed since; move it away"
                raise Misuse(f"{path} {problem}, or set this to replace it", parameter="force")


@contextmanager
def making(collection: Collection, paths: Iterable[Path], *, force: bool = False) -> Iterator[None]:
    """Check that files of a collection may be replaced, and note those that the block writes.

    The collection must be locked. With `force` they may be, whoever wrote them.
    """
    several = list(paths)
    if not force:
        check_made(collection, several)
    before = {path: _identity(path) for path in several}
    earlier = card_section(read_card(collection), SECTION)
    pending = {_key(collection, path): _BEING_WRITTEN for path in several}
    update_card(collection, SECTION, {**earlier, **pending})
    try:
        yield
    finally:
        now = {_key(collection, p): sha256_of(p) for p in several if _identity(p) != before[p]}
        others = card_section(read_card(collection), SECTION)
        left = {key: value for key, value in others.items() if key not in pending}
        same = {key: value for key, value in earlier.items() if key in pending}
        update_card(collection, SECTION, dict(sorted({**left, **same, **now}.items())))


def note_changed(collection: Collection) -> None:
    """Note the files that the card knows as they are now, and forget those that are gone.

    The collection must be locked, and a command of its own have changed them.
    """
    hashes = card_section(read_card(collection), SECTION)
    paths = {key: collection.folder / key for key in hashes}
    now = {key: sha256_of(path) for key, path in paths.items() if path.is_file()}
    update_card(collection, SECTION, dict(sorted(now.items())))


def _identity(path: Path) -> tuple[int, int] | None:
    """What changes where a file is replaced; None where there is none."""
    if not path.exists():
        return None
    status = path.stat()
    return status.st_ino, status.st_mtime_ns


def _key(collection: Collection, path: Path) -> str:
    return path.relative_to(collection.folder).as_posix()


def _is_made(collection: Collection, path: Path, card: Mapping[str, Any]) -> bool:
    key = _key(collection, path)
    sha256 = card_section(card, SECTION).get(key)
    if sha256 is None:
        return _is_known(key, card)
    return sha256 in (_BEING_WRITTEN, sha256_of(path))


def _is_known(key: str, card: Mapping[str, Any]) -> bool:
    """Whether a section of a card tells of a file, in cards from before they held hashes."""
    folder, _, name = key.rpartition("/")
    stem = name.partition(".trec")[0] if folder == "runs" else name.removesuffix(".qrels")
    if folder == "runs":
        return stem in card_section(card_section(card, "pool"), "runs")
    if folder == "qrels":
        return stem in card_section(card_section(card, "fetch"), "qrels")
    makers = ("generate",) if name == "rejected.jsonl" else ("ingest", "fetch")
    return any(maker in card for maker in makers)
