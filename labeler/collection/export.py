"""`export`: a collection's texts and grades as files of another tool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from labeler.collection.corpus import corpus_on_demand
from labeler.collection.judgements import states_of
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.collection.people import own_qrels
from labeler.collection.queries import read_queries
from labeler.collection.user_files import Output, collection_qrels
from labeler.errors import BadInput, Misuse, check_known
from labeler.exchange.export.content import Content, Export, FormatName
from labeler.exchange.export.formats import EXPORTS
from labeler.files.paths import true_path
from labeler.messages import Note, count_of, quiet
from labeler.options import Options, option
from labeler.report.result import Result
from labeler.trec.files import read_qrels, read_run


@dataclass(frozen=True, slots=True)
class ExportOptions(Options):
    """Which qrels and runs to export.

    Both are names of the collection's; without `qrels` it is `human`, else the only one.
    """

    qrels: str | None = option(None, "Which qrels; human, or the only ones.", metavar="NAME")
    runs: tuple[str, ...] = option(
        (), "A run of the collection's too; may be repeated.", flags="--run", metavar="NAME"
    )


@dataclass(frozen=True, eq=False, repr=False)
class Exported(Result):
    """The files that were written, how much is in them, and a line that says who reads them how."""

    files: Sequence[Path]
    qrels: str
    documents: int
    queries: int
    pairs: int
    reader: str
    losses: Sequence[str] = ()


def export(
    collection: AnyCollection,
    output: Output | Path | str,
    to: FormatName,
    options: ExportOptions | None = None,
    warn: Note = quiet,
) -> Exported:
    """Write a collection's texts and grades as files that the tool `to` reads.

    `output` is a folder; of a tool that reads one file, it may be that file. Only judgements are
    exported: a pair that failed has no grade, and of what a format cannot hold `warn` is told.

    >>> from tempfile import mkdtemp
    >>> import labeler
    >>> from labeler.testing import small_collection
    >>> collection = small_collection()
    >>> _ = labeler.import_qrels({"q1": {"cats": 2}}, collection)
    >>> [path.name for path in export(collection, mkdtemp(), "beir").files]
    ['corpus.jsonl', 'queries.jsonl', 'test.tsv']
    """
    check_known("format", to, EXPORTS, "to")
    opened, tool, options = open_collection(collection), EXPORTS[to], options or ExportOptions()
    if options.runs and not tool.takes_runs:
        raise Misuse(f"{to} takes no runs", parameter="runs")
    path = collection_qrels(opened.folder, options.qrels)
    content = _content(opened, path, options, tool, warn)
    losses = tuple(tool.losses(content))
    for line in losses:
        warn(line)
    whole = Output.of(output, [opened.folder])
    writers = tool.files(content)
    outputs = {name: _output(whole, name, alone=len(writers) == 1) for name in writers}
    for file in outputs.values():
        file.check()
    for name, file in outputs.items():
        with file.writing():
            writers[name](file.path)
    files = tuple(file.path for file in outputs.values())
    read = tool.reader.format(files[0] if len(files) == 1 else whole.path)
    pairs = sum(map(len, content.qrels.values()))
    return Exported(
        files, path.stem, len(content.documents), len(content.queries), pairs, read, losses
    )


def _output(whole: Output, name: str, *, alone: bool) -> Output:
    """Where a file of an export goes: into the folder; a file that is alone may be the path."""
    is_folder = not alone or whole.path.is_dir() or not whole.path.suffix
    path = whole.path / name if is_folder else whole.path
    return Output(path, whole.force, whole.inputs, of_export=True)


def _content(
    collection: Collection, path: Path, options: ExportOptions, tool: Export, warn: Note
) -> Content:
    """What is exported: the pairs whose query and document the collection has."""
    own = own_qrels(collection, read_qrels(path, warn), path)
    for line in [*own.warnings(path), *_failed(collection, path.stem)]:
        warn(line)
    qrels = own.qrels
    if own.unjudged and not tool.keeps_negative:
        pairs = count_of(own.unjudged, "pair has", "pairs have")
        warn(f"{path}: {pairs} a negative grade, by which nobody judged it: left out")
        qrels = own.judged
    if not qrels:
        raise BadInput(f"{path}: no pair is judged")
    files = collection.run_files()
    for each in options.runs:
        check_known("run", each, files, "runs")
    runs = {each: read_run(files[each]) for each in options.runs}
    name = true_path(collection.folder).name
    return Content(
        name,
        corpus_on_demand(collection.corpus),
        read_queries(collection.queries),
        qrels,
        runs,
    )


def _failed(collection: Collection, name: str) -> Iterable[str]:
    """A line that counts the pairs which were asked about, and have no grade to export."""
    path = collection.judgements(name)
    if failed := sum(state.grade is None for _, state in states_of(path)):
        pairs = count_of(failed, "pair failed and has", "pairs failed and have")
        yield f"{path}: {pairs} no grade: not exported"
