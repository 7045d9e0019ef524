"""Read files into a collection's corpus, unless that would harm what is there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from labeler import __version__
from labeler.collection.card import card_section, check_made, making, read_card, update_card
from labeler.collection.corpus import write_corpus
from labeler.collection.layout import AnyCollection, Collection, locked
from labeler.collection.pool import read_pool
from labeler.collection.queries import read_queries, write_queries
from labeler.corpus.documents import Ingested, Reading, read_documents
from labeler.data import Query
from labeler.errors import Misuse
from labeler.exchange.queries import read_query_list
from labeler.files.boundary import reading
from labeler.files.jsonl import JsonObject, RowValues
from labeler.files.paths import Paths, names_of, true_path
from labeler.messages import count_of, counted
from labeler.models.session import Control
from labeler.options import given

# How a collection's documents were read, as its card tells it, so that they can be read anew.


def settings_of(collection: Collection) -> Reading:
    """The settings in a collection's card; the usual ones where it has none."""
    with reading(collection.card):
        settings = dict(_section(collection).get("settings") or {})
        lists = {name: tuple(settings.get(name, ())) for name in ("include", "exclude")}
        return given(Reading, None, settings | lists)


def _section(collection: Collection) -> RowValues:
    return card_section(read_card(collection), "ingest")


def inputs_from(collection: Collection, inputs: Sequence[str]) -> list[str]:
    """The inputs as paths from the collection's folder, so that both may be moved together."""
    folder = os.path.realpath(collection.folder)
    return [os.path.relpath(os.path.realpath(path), folder).replace(os.sep, "/") for path in inputs]


def inputs_of(collection: Collection) -> list[str]:
    """The inputs that a collection's card tells of, as paths that can be read from here."""
    relative = _section(collection).get("inputs_from_here")
    paths = relative if isinstance(relative, list) else []
    return [os.path.normpath(collection.folder / str(path)) for path in paths]


@dataclass(frozen=True, slots=True)
class IngestOptions(Reading):
    """How documents are read; what this did not write is replaced with `force` alone."""

    force: bool = False


def ingest(
    inputs: Paths,
    out: AnyCollection,
    queries_file: Path | str | None = None,
    options: IngestOptions | None = None,
    *,
    control: Control | None = None,
    **settings: Any,
) -> Ingested:
    """Cut documents into passages, and write them as the corpus of the collection `out`.

    `inputs` are files, folders (read recursively) and patterns. `queries_file` holds queries of
    your own. `settings` are fields of `IngestOptions`, and of `FileRules` and `FieldNames` in it.

    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> _ = Path(folder.name, "cats.md").write_text("# Cats\\n\\nA cat sleeps anywhere.\\n")
    >>> ingest(folder.name, Path(folder.name, "collection"))
    Ingested(1 documents from 1 files, 0 not read)
    >>> folder.cleanup()
    """
    options = given(IngestOptions, options, settings)
    control = control or Control()
    collection = out if isinstance(out, Collection) else Collection(Path(out))
    names = names_of(inputs)
    own = [Path(queries_file)] if queries_file else []
    refuse_to_write_into(names, collection)
    of_queries = {name: getattr(options.fields, name) for name in ("query_field", "id_field")}
    queries = read_query_list(own[0], **of_queries) if own else {}
    if not options.force:
        _refuse_to_replace(collection, queries)
        check_made(collection, [collection.corpus])
    with control.progress("files") as advance:
        result = read_documents(names, (collection.folder, *own), advance, options)
    result.queries = queries
    with locked(collection, control.note):
        return _keep(collection, names, result, options, control)


def _keep(
    collection: Collection,
    inputs: Sequence[str],
    result: Ingested,
    options: IngestOptions,
    control: Control,
) -> Ingested:
    """Write what was read into the collection, unless that would harm what is there."""
    if not options.force:
        _refuse_to_replace(collection, result.queries)
    _refuse_to_orphan(collection, result)
    is_new = bool(result.queries) and not _has_queries(collection, result.queries)
    paths = [collection.corpus, *([collection.queries] if is_new else [])]
    with making(collection, paths, force=options.force):
        with control.progress("writing the corpus") as advance:
            documents = counted(result.documents.values(), len(result.documents), advance)
            write_corpus(collection.corpus, documents)
        if is_new:
            write_queries(collection.queries, result.queries.values())
        update_card(collection, "ingest", card_of(collection, inputs, result, options))
    return result


def _refuse_to_replace(collection: Collection, queries: dict[str, Query]) -> None:
    """Refuse to overwrite a collection's queries by others, since queries may have cost money."""
    if queries and collection.queries.exists() and not _has_queries(collection, queries):
        raise Misuse(
            f"{collection.queries} holds other queries; move it away or choose another directory"
        )


def _has_queries(collection: Collection, queries: dict[str, Query]) -> bool:
    return collection.queries.exists() and read_queries(collection.queries) == queries


def _refuse_to_orphan(collection: Collection, result: Ingested) -> None:
    """Refuse a corpus that lacks documents which the collection's pool names."""
    if not collection.pool.exists():
        return
    missing = set(read_pool(collection.pool).pairs.documents) - result.documents.keys()
    if missing:
        states = ("document that is edited or gone", "documents that are edited or gone")
        raise Misuse(
            f"{collection.pool} names {count_of(len(missing), *states)}, as {min(missing)}; "
            "`update` takes edits in and keeps the grades"
        )


def refuse_to_write_into(inputs: Sequence[str], collection: Collection) -> None:
    """Refuse a collection that is itself among the inputs."""
    for path in map(Path, inputs):
        if path.is_dir() and true_path(collection.folder) == true_path(path):
            raise Misuse(
                f"{collection.folder} is the input itself; choose another directory",
                parameter="out",
            )


def card_of(
    collection: Collection, inputs: Sequence[str], result: Ingested, how: Reading
) -> JsonObject:
    """What the card says of the documents: where they came from, and how they were read."""
    fields = {name: value for name, value in asdict(how.fields).items() if value}
    return {
        "labeler": __version__,
        "inputs": list(inputs),
        "inputs_from_here": inputs_from(collection, inputs),
        "settings": {**asdict(how.files), "follow_links": how.follow_links, **fields},
        **result.as_json(),
        "losses": asdict(result.all_losses),
    }
