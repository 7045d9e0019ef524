"""`card.json`: what made each part of a collection."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from labeler.collection.layout import Collection, check_locked
from labeler.errors import Misuse
from labeler.files.atomic import replacing
from labeler.files.boundary import count, reading
from labeler.files.read import check_regular, file_problems, sha256_of
from labeler.messages import count_of


def read_card(collection: Collection) -> dict[str, Any]:
    """The card, empty where there is none yet."""
    if not collection.card.exists():
        return {}
    check_regular(collection.card)
    with file_problems(collection.card), reading(collection.card) as position:
        card = json.loads(collection.card.read_bytes().decode("utf-8"))
        if not isinstance(card, dict):
            raise position.error("expected a JSON object")
        json.dumps(card, ensure_ascii=False).encode()  # half a surrogate pair cannot be kept
    return card


def card_section(card: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """A section of a card, or one in it, by the names on the way there.

    Empty where none is, or where somebody put something else.
    """
    section: Any = card
    for name in names:
        section = section.get(name) if isinstance(section, dict) else None
    return section if isinstance(section, dict) else {}


def update_card(collection: Collection, section: str, entry: Mapping[str, Any]) -> None:
    """Write `entry` as the card's `section`, beside what else stands there.

    The collection must be locked, here as in every function that writes one of its files.
    """
    check_locked(collection.folder)
    card = {**read_card(collection), section: dict(entry)}
    with replacing(collection.card) as out:
        json.dump(card, out, ensure_ascii=False, indent=2)
        out.write("\n")


def update_card_entry(
    collection: Collection, section: str, name: str, entry: Mapping[str, Any]
) -> None:
    """Write `entry` under a name into a section of the card, beside the section's others."""
    entries = card_section(read_card(collection), section)
    update_card(collection, section, {**entries, name: dict(entry)})


# Which files of a collection its own commands wrote, so that they replace no others.
#
# The card's section `files` holds the SHA-256 of each, and an empty text while one is being
# written: after a kill in between, the file belongs to the command that wrote it, whatever it
# holds.

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
def making(collection: Collection, paths: Iterable[Path], *, force: bool) -> Iterator[None]:
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
    paths = {key: collection.folder / key for key in card_section(read_card(collection), SECTION)}
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
    sha256 = card_section(card, SECTION).get(_key(collection, path))
    return sha256 in (_BEING_WRITTEN, sha256_of(path))


# From which set another one takes its pairs, and which of them: a part is not the whole.

SAMPLE, DISAGREEMENTS, FAILURES, QUERIES = "sample", "disagreements", "failures", "queries"


@dataclass(frozen=True, slots=True)
class Parent:
    """The set `name`, of whose `of_pairs` pairs a later set judges `pairs`, as `only` says.

    `only` is as a user writes it, empty where all pairs are judged. A sample was drawn with `seed`;
    `beside` are the sets whose grades were compared for disagreements. `picked_before` are those by
    whose grades the parent's own pairs were picked, if they were.
    """

    name: str
    only: str = ""
    pairs: int = 0
    of_pairs: int = 0
    seed: int | None = None
    beside: Sequence[str] = ()
    is_reparsed: bool = False
    picked_before: Sequence[str] = ()

    @property
    def kind(self) -> str:
        """What `only` names: sample, disagreements, failures, queries, or nothing."""
        return self.only.partition(":")[0]

    @property
    def is_part(self) -> bool:
        """Whether some pairs of the parent were left out."""
        return bool(self.only) and self.pairs < self.of_pairs

    @property
    def picking(self) -> Sequence[str]:
        """The sets by whose grades the pairs were picked."""
        is_picked = self.is_part and self.kind in (DISAGREEMENTS, FAILURES)
        own = (self.name, *self.beside) if is_picked else ()
        return (*own, *self.picked_before)

    def which(self) -> str:
        """Which of the parent's pairs were judged, after `N of the M pairs of NAME`."""
        if self.kind == SAMPLE:
            return f"drawn at random (seed {self.seed or 0})"
        if self.kind == FAILURES:
            return "those without a grade"
        if self.kind == QUERIES:
            return "those of the queries that were named"
        return f"those that {' and '.join((self.name, *self.beside))} grade differently"

    def sentence(self, name: str) -> str:
        """What the set `name` is a part of; empty where it is the whole."""
        if not self.is_part:
            return ""
        whole = f"the {count_of(self.of_pairs, 'pair')} of {self.name}"
        return f"{name} holds {self.pairs:,} of {whole}: {self.which()}"

    def as_json(self) -> dict[str, Any]:
        """The entry of the card; what is not so is left out."""
        return {
            key: value
            for key, value in {
                "from": self.name,
                "only": self.only,
                "pairs": self.pairs,
                "of_pairs": self.of_pairs,
                "seed": self.seed,
                "beside": list(self.beside),
                "reparsed": self.is_reparsed,
            }.items()
            if value or (key == "seed" and value == 0)
        }


MOST_GENERATIONS = 20


def parent_of(collection: Collection, name: str) -> Parent | None:
    """The parent of a set of judgements, as the card says; None where it has none.

    Where all pairs of a part were judged anew, that is the set of which they are a part.
    """
    return _parent_in(card_section(read_card(collection), "judge"), name, MOST_GENERATIONS)


def _parent_in(judged: Mapping[str, Any], name: str, generations: int) -> Parent | None:
    parent = _read(card_section(judged, name, "parent"))
    if parent is None or not generations:
        return parent
    earlier = _parent_in(judged, parent.name, generations - 1)
    if earlier is None or not earlier.is_part:
        return parent
    return replace(parent, picked_before=earlier.picking) if parent.is_part else earlier


def _read(entry: Mapping[str, Any]) -> Parent | None:
    """A parent from a card, in which anybody may have written anything."""
    name, only, beside = entry.get("from"), entry.get("only", ""), entry.get("beside")
    if not isinstance(name, str) or not isinstance(only, str):
        return None
    return Parent(
        name,
        only,
        count(entry.get("pairs")) or 0,
        count(entry.get("of_pairs")) or 0,
        count(entry.get("seed")),
        tuple(map(str, beside)) if isinstance(beside, list) else (),
        entry.get("reparsed") is True,
    )
