"""`update`: read edited documents into a collection whose pairs are judged, and keep the grades."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from labeler.collection.card import card_section, read_card, update_card
from labeler.collection.corpus import write_corpus
from labeler.collection.layout import Collection, open_collection
from labeler.collection.lock import locked
from labeler.collection.on_demand import corpus_on_demand
from labeler.collection.provenance import making
from labeler.collection.readme import write_readme
from labeler.corpus.blocks import lengths_of
from labeler.corpus.carry import Carrying, keep_before, note_in_card, write_carried
from labeler.corpus.carryover import Carryover
from labeler.corpus.documents import Ingested, Reading, read_documents
from labeler.corpus.ingest import card_of, refuse_to_write_into
from labeler.corpus.matching import match_passages
from labeler.corpus.settings import settings_of
from labeler.data import Document
from labeler.errors import BadInput
from labeler.models.control import Control

SECTION = "carried"
_RUNNING = "being written"


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """What became of passages and judgements; `history` holds the state before, if one was kept.

    `runs` are those that rank the old passages, and lie in `history` alone.
    """

    ingested: Ingested
    carryover: Carryover
    history: Path | None = None
    runs: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The counts by name."""
        history = None if self.history is None else str(self.history)
        return {
            "documents": len(self.ingested.documents),
            **self.carryover.as_json(),
            "history": history,
            "runs": list(self.runs),
        }

    def __repr__(self) -> str:
        counts = self.carryover.as_json()["passages"]
        return f"UpdateResult({', '.join(f'{n} {state}' for state, n in counts.items())})"


def update(
    inputs: str | Path | Iterable[str | Path],
    collection: Collection | Path | str,
    *,
    words: int | None = None,
    dry_run: bool = False,
    control: Control | None = None,
) -> UpdateResult:
    """Read documents anew, as the collection's own were read, and carry its judgements over.

    A model's grade holds where it would be shown what it was shown; a person's where a passage is
    unchanged, moved, or lies whole in a larger one. Of others the next `judge` asks again. With
    `dry_run` nothing is written. The state before is kept below `history`. `words` changes about
    how many words a passage has.

    >>> from tempfile import TemporaryDirectory
    >>> from labeler.corpus.ingest import ingest
    >>> folder = TemporaryDirectory()
    >>> page, made = Path(folder.name, "cats.md"), Path(folder.name, "collection")
    >>> _ = page.write_text("# Cats\\n\\nA cat sleeps anywhere.\\n")
    >>> _ = ingest(page, made)
    >>> _ = page.write_text("# The cat\\n\\nA cat sleeps anywhere.\\n")
    >>> update(page, made)
    UpdateResult(0 unchanged, 1 moved, 0 merged, 0 split, 0 gone)
    >>> folder.cleanup()
    """
    several = [inputs] if isinstance(inputs, str | Path) else inputs
    names = [str(path) for path in several]
    opened, control = open_collection(collection), control or Control()
    refuse_to_write_into(names, opened)
    how = settings_of(card_section(read_card(opened), "ingest"))
    if words is not None:
        how = replace(how, lengths=lengths_of(words))
    with control.progress("files") as advance:
        ingested = read_documents(names, (opened.folder,), advance, how)
    with locked(opened, control.note):
        return change_corpus(opened, names, ingested, how, dry_run=dry_run, control=control)


def change_corpus(  # noqa: PLR0913  what is read, and how
    collection: Collection,
    names: Sequence[str],
    ingested: Ingested,
    how: Reading,
    *,
    dry_run: bool,
    control: Control,
    merges: bool = False,
) -> UpdateResult:
    """Put other passages in place of a collection's, which must be locked; or only count.

    With `merges` a model's grades hold for larger passages, too.
    """
    old = _state_before(collection)
    old_documents = corpus_on_demand(old.corpus)
    with control.progress("passages compared") as advance:
        matches = match_passages(old_documents, ingested.documents, advance)
    carrying = partial(Carrying, matches=matches, documents=ingested.documents, merges=merges)
    from_old = carrying(old)
    outcome = replace(from_old.outcome(), unchecked=from_old.unchecked(ingested.documents))
    is_same = _is_same(old_documents, ingested.documents) and old is collection
    if dry_run or is_same:
        return UpdateResult(ingested, outcome)
    del old_documents  # their file is replaced, which Windows forbids while it is open
    history = keep_before(collection) if old is collection else old.folder
    runs = tuple(Collection(history).run_files())
    before = Collection(history)
    note = {"from": history.relative_to(collection.folder).as_posix(), **outcome.as_json()}
    update_card(collection, SECTION, {**note, "state": _RUNNING})
    with making(collection, [collection.corpus, collection.queries], force=True):
        write_corpus(collection.corpus, ingested.documents.values())
        write_carried(collection, carrying(before))
    update_card(collection, "ingest", card_of(collection, names, ingested, how))
    note_in_card(collection)
    update_card(collection, SECTION, {**note, "state": "done"})
    write_readme(collection)
    return UpdateResult(ingested, outcome, history, runs)


def _state_before(collection: Collection) -> Collection:
    """The state to carry over from: of a change that was cut short, the one that it began with."""
    section = card_section(read_card(collection), SECTION)
    if section.get("state") != _RUNNING:
        return collection
    folder = collection.folder / str(section.get("from"))
    if not (folder / "corpus.jsonl").is_file():
        raise BadInput(f"{collection.card}: a change was cut short, and {folder} is not there")
    return Collection(folder)


def _is_same(old: Mapping[str, Document], new: Mapping[str, Document]) -> bool:
    """Whether nothing changed, in metadata either."""
    pairs = zip(old.values(), new.values(), strict=False)
    return len(old) == len(new) and all(before == now for before, now in pairs)
