"""Read files into a collection's corpus: passages with stable ids, and what was not read."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from labeler import __version__
from labeler.collection.card import update_card
from labeler.collection.corpus import read_corpus, write_corpus
from labeler.collection.layout import Collection
from labeler.collection.lock import locked
from labeler.collection.pool import read_pool
from labeler.collection.provenance import check_made, making
from labeler.collection.queries import read_queries, write_queries
from labeler.corpus.chunk import passages
from labeler.corpus.find import InputFiles, find_files
from labeler.corpus.read import KINDS, LARGEST_FILE, WHOLE, holds_rows, kind_of, read_documents_of
from labeler.corpus.readers.rows import SourceDocument
from labeler.data import Document, Query
from labeler.errors import BadInput, FileProblem, Misuse, TooLarge
from labeler.exchange.fields import FieldNames
from labeler.exchange.queries import read_query_list
from labeler.files.paths import true_path
from labeler.files.read import file_problems
from labeler.messages import Advance
from labeler.models.control import Control

_USUAL = FieldNames()

FirstByText = dict[tuple[str, str], Document]
"""The first passage that has a title and text, by these two."""


@dataclass(repr=False)
class Ingested:
    """The documents by id, and what became of every file.

    `unread` says of each file that could not be read why, and `too_large` counts those of them that
    are larger than a document may be; `other_kinds` counts the files of kinds that are not read, by
    ending; `collection_files` are those of a collection beside its corpus; `duplicates` counts
    passages that an earlier file had already, `removed` the documents of an earlier corpus that are
    not among these; `links_out` are links that lead out of their folder; `parameter` is the one
    that would help to read a file.
    """

    documents: dict[str, Document] = field(default_factory=dict)
    files: int = 0
    unread: list[str] = field(default_factory=list)
    other_kinds: Counter[str] = field(default_factory=Counter)
    too_large: int = 0
    collection_files: list[str] = field(default_factory=list)
    duplicates: int = 0
    removed: int = 0
    queries: dict[str, Query] = field(default_factory=dict)
    links_out: list[str] = field(default_factory=list)
    parameter: str = ""

    def as_json(self) -> dict[str, object]:
        """The counts by name, and what was not read."""
        return {
            "files": self.files,
            "documents": len(self.documents),
            "duplicates": self.duplicates,
            "unread": self.unread,
            "too_large": self.too_large,
            "links_out": self.links_out,
            "other_kinds": dict(sorted(self.other_kinds.items())),
            "queries": len(self.queries),
        }

    def __repr__(self) -> str:
        documents, unread = len(self.documents), len(self.unread)
        return f"Ingested({documents} documents from {self.files} files, {unread} not read)"


def ingest(  # noqa: PLR0913  the keywords of a public function are its settings
    inputs: str | Path | Iterable[str | Path],
    out: Collection | Path | str,
    queries_file: Path | str | None = None,
    max_file_size: int = LARGEST_FILE,
    control: Control | None = None,
    *,
    follow_links: bool = False,
    force: bool = False,
    text_field: str = "",
    title_field: str = "",
    id_field: str = "",
    query_field: str = "",
) -> Ingested:
    """Cut documents into passages, and write them as the corpus of the collection `out`.

    `inputs` are files, folders (read recursively) and patterns. `queries_file` holds queries of
    your own. Of files that are one document each, those of more than `max_file_size` bytes, of
    markup a sixteenth of that, are left out and counted; rows are held to 64 MB each. Links that
    lead out of a folder are read with `follow_links` alone; a corpus and queries that this did not
    write are replaced with `force` alone. `text_field`, `title_field` and `id_field` say what rows
    of documents call these, where no usual name does, with dots for what is nested; `query_field`
    and `id_field` the same of queries.

    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> _ = Path(folder.name, "cats.md").write_text("# Cats\\n\\nA cat sleeps anywhere.\\n")
    >>> ingest(folder.name, Path(folder.name, "collection"))
    Ingested(1 documents from 1 files, 0 not read)
    >>> folder.cleanup()
    """
    control = control or Control()
    collection = out if isinstance(out, Collection) else Collection(Path(out))
    several = [inputs] if isinstance(inputs, str | Path) else inputs
    names, own = [str(path) for path in several], [Path(queries_file)] if queries_file else []
    _refuse_to_write_into(names, collection)
    fields = FieldNames(text_field, title_field, id_field, query_field)
    of_queries = {"query_field": query_field, "id_field": id_field}
    queries = read_query_list(own[0], **of_queries) if own else {}
    if not force:
        _refuse_to_replace(collection, queries)
        check_made(collection, [collection.corpus])
    left_out = (collection.folder, *own)
    with control.progress("files") as advance:
        result = read_documents(
            names, left_out, advance, max_file_size, follow_links=follow_links, fields=fields
        )
    result.queries = queries
    with locked(collection, control.note):
        return _keep(collection, names, result, force=force)


def _keep(
    collection: Collection, inputs: Sequence[str], result: Ingested, *, force: bool
) -> Ingested:
    """Write what was read into the collection, unless that would harm what is there."""
    if not force:
        _refuse_to_replace(collection, result.queries)
    result.removed = _count_removed(collection, result)
    _refuse_to_orphan(collection, result)
    is_new = bool(result.queries) and not _has_queries(collection, result.queries)
    paths = [collection.corpus, *([collection.queries] if is_new else [])]
    with making(collection, paths, force=force):
        write_corpus(collection.corpus, result.documents.values())
        if is_new:
            write_queries(collection.queries, result.queries.values())
        update_card(collection, "ingest", _card(inputs, result))
    return result


def read_documents(  # noqa: PLR0913  the settings of `ingest`
    inputs: Sequence[str],
    leave_out: Iterable[Path] = (),
    advance: Advance = lambda _done, _total: None,
    max_file_size: int = LARGEST_FILE,
    *,
    follow_links: bool = False,
    fields: FieldNames = _USUAL,
) -> Ingested:
    """The documents of folders, files and patterns.

    Raises `BadInput` where none of the files holds any.
    """
    input_files = find_files(inputs, leave_out, follow_links=follow_links)
    result = Ingested(
        links_out=[_writable(str(path)) for path in input_files.links_out],
        collection_files=[_writable(str(path)) for path in input_files.collection_files],
        unread=[_writable(problem) for problem in input_files.unread],
    )
    if max_file_size < 1:
        raise Misuse("expected a size of 1 byte or more", parameter="max_file_size")
    first_by_text: FirstByText = {}
    for position, path in enumerate(input_files.files):
        is_named = str(path) in inputs
        sources = _sources_of(path, result, max_file_size, fields, is_named=is_named)
        if sources:
            _add_file(path, input_files.base, sources, result, first_by_text)
        advance(position + 1, len(input_files.files))
    if not result.documents:
        problem = _nothing_read(inputs, input_files, result)
        raise BadInput(problem, parameter=result.parameter)
    return result


def _sources_of(
    path: Path, result: Ingested, most: int, fields: FieldNames, *, is_named: bool
) -> list[SourceDocument]:
    """The documents in a file; where there are none, the result says why.

    A file that was named is read by its content where its name says nothing.
    """
    kind = kind_of(path)
    try:
        if kind not in KINDS and not (is_named and holds_rows(path)):
            result.other_kinds[kind or path.name] += 1
            return []
        sources = read_documents_of(path, most, fields)
        _refuse_repeated_ids(path, sources, result)
    except (BadInput, FileProblem) as error:
        result.unread.append(_writable(str(error)))
        result.parameter = result.parameter or error.parameter
        result.too_large += kind in WHOLE and isinstance(error, TooLarge)
        return []
    if not any(block.text for source in sources for block in source.blocks):
        result.unread.append(_writable(f"{path}: no text in it besides headings and markup"))
        return []
    return sources


def _add_file(
    path: Path,
    base: Path,
    sources: Sequence[SourceDocument],
    result: Ingested,
    first_by_text: FirstByText,
) -> None:
    result.files += 1
    shown_path = _relative_path(path, base)
    with file_problems(path), path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    for source in sources:
        if source.id is not None:
            document = Document(source.id, source.text, source.title, source.metadata)
            result.documents[source.id] = document
            continue
        for document in _passages_of(source, shown_path, digest):
            _add_passage(document, shown_path, result, first_by_text)


def _add_passage(
    document: Document, shown_path: str, result: Ingested, first_by_text: FirstByText
) -> None:
    """Add a passage; where an earlier one is the same, note this file in its metadata instead."""
    first = first_by_text.setdefault((document.title, document.text), document)
    if first is document:
        result.documents[document.id] = document
        return
    result.duplicates += 1
    if _writable(shown_path) == first.metadata["source"]:
        return
    if "also_in" in first.metadata:  # a boilerplate may stand in every one of many files
        first.metadata["also_in"].append(_writable(shown_path))
        return
    same = replace(first, metadata={**first.metadata, "also_in": [_writable(shown_path)]})
    first_by_text[document.title, document.text] = result.documents[first.id] = same


def _relative_path(path: Path, base: Path) -> str:
    """Return a file's path as documents name it: relative to the input, with slashes."""
    absolute, above = path.absolute(), base.absolute()
    shown = absolute.relative_to(above) if absolute.is_relative_to(above) else absolute
    return unicodedata.normalize("NFC", shown.as_posix())


def _passages_of(source: SourceDocument, shown_path: str, digest: str) -> Iterator[Document]:
    """The passages of a document; an id is the file's path and the hash of title and text.

    So an id never comes to stand for another text, and a passage that an edit leaves as it was
    keeps its id, and with it its judgements.
    """
    stem = _writable(Path(shown_path).name).split(".")[0]
    first = next((block.headings[0] for block in source.blocks if block.headings), "")
    for passage in passages(source.blocks):
        title = _title(source.title, stem, first, passage.headings)
        content = hashlib.sha256(f"{title}\0{passage.text}".encode()).hexdigest()[:10]
        where = {
            "source": _writable(shown_path),
            "line": max(passage.line, source.line),
            "sha256": digest,
        }
        metadata = {**source.metadata, **where, "headings": list(passage.headings)}
        yield Document(f"{id_part(shown_path)}:{content}", passage.text, title, metadata)


def _title(own: str, stem: str, first: str, headings: tuple[str, ...]) -> str:
    """The heading path below the document's title: its own, else the first heading.

    A document with several topmost headings is called by its file's name under all but the first.
    """
    document = own or (first if headings[:1] == (first,) else "") or stem
    path = headings[1:] if headings[:1] == (document,) else headings
    return " > ".join((document, *path))


def id_part(path: str) -> str:
    """Return a path as a part of an id: white space and invisible letters are percent-encoded."""
    return "".join(
        c if c.isprintable() and not c.isspace() and c != "%" else _percent(c) for c in path
    )


def _writable(text: str) -> str:
    """Replace the bytes of a file name that are not UTF-8, so that the text can be written."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _percent(character: str) -> str:
    raw = character.encode("utf-8", "surrogateescape")
    return "".join(f"%{byte:02X}" for byte in raw)


def _refuse_repeated_ids(path: Path, sources: Sequence[SourceDocument], result: Ingested) -> None:
    for source in sources:
        if source.id in result.documents:
            raise BadInput.at(
                path, source.line, f"the id {source.id!r} stands in an earlier file too"
            )


def _nothing_read(inputs: Sequence[str], input_files: InputFiles, result: Ingested) -> str:
    names = ", ".join(inputs)
    if result.unread:
        more = f" (and {len(result.unread) - 1} more)" if len(result.unread) > 1 else ""
        return f"{names}: no document could be read: {result.unread[0]}{more}"
    if input_files.files:
        kinds = ", ".join(sorted(result.other_kinds))
        return (
            f"{names}: no file of a kind that can be read, only {kinds}; known: {', '.join(KINDS)}"
        )
    if result.links_out:
        return f"{names}: nothing in it but links that lead out of it, as {result.links_out[0]}"
    return f"{names}: no file in it; files and folders whose names begin with a dot are passed over"


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
    missing = {entry.pair.doc_id for entry in read_pool(collection.pool)} - result.documents.keys()
    if missing:
        raise Misuse(
            f"{collection.pool} names {len(missing)} documents that are edited or gone, as "
            f"{min(missing)}; a changed corpus is another collection: choose another directory"
        )


def _refuse_to_write_into(inputs: Sequence[str], collection: Collection) -> None:
    for path in map(Path, inputs):
        if path.is_dir() and true_path(collection.folder) == true_path(path):
            raise Misuse(
                f"{collection.folder} is the input itself; choose another directory",
                parameter="out",
            )


def _count_removed(collection: Collection, result: Ingested) -> int:
    """Return how many documents of the collection's earlier corpus are not among the new ones."""
    if not collection.corpus.exists():
        return 0
    try:
        return len(read_corpus(collection.corpus).keys() - result.documents.keys())
    except BadInput:  # it is replaced, so that its faults do not matter
        return 0


def _card(inputs: Sequence[str], result: Ingested) -> dict[str, object]:
    return {"labeler": __version__, "inputs": list(inputs), **result.as_json()}
