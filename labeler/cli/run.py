"""`labeler runs`: look at, check, cut, sort and convert runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from labeler.cli.options import FORCE, OUTPUT, OutputFlags
from labeler.cli.screen import caution, note
from labeler.messages import count_of
from labeler.options import COUNT, REQUIRED, Option, option

if TYPE_CHECKING:
    from labeler.runs.rewrite import Change

RunFormat = Literal["trec", "json", "parquet", "csv"]
FORMATS_HELP = "TREC's columns, BEIR's .json, .csv or .parquet, by its name"
File = Annotated[
    Path,
    typer.Argument(metavar="RUN", help=f"A run ({FORMATS_HELP}; gzip too); - is standard input."),
]
Files = Annotated[
    list[Path],
    typer.Argument(metavar="RUN...", help=f"Runs ({FORMATS_HELP}), or a folder of them."),
]
TO_WRITE = Option(
    f"The run to write ({FORMATS_HELP}); - is standard output.", flags="--output -o", panel=OUTPUT
)
TAG = Option("The run's last column; its name where not given.", panel=OUTPUT)


def stats(paths: Files, *, output: OutputFlags) -> None:
    """Count queries, documents, ties, and ranks that contradict their scores."""
    from labeler.cli.output import show_counts
    from labeler.collection.user_files import run_paths
    from labeler.runs.stats import run_stats, stats_table

    to = output.made_from(*paths)
    show_counts([run_stats(path) for path in run_paths(paths)], stats_table, output.format, to)


def validate(
    paths: Files,
    *,
    collection: Path | None = option(
        None, "Whose queries and documents they must be.", flags="--in", metavar="COLL"
    ),
    output: OutputFlags,
) -> None:
    """Read runs strictly; warn of ties and of ranks that contradict their scores."""
    from labeler.cli.output import show_counts
    from labeler.collection.queries import CollectionIds
    from labeler.collection.user_files import run_paths
    from labeler.runs.stats import run_stats, stats_table

    to = output.made_from(*paths)
    ids = CollectionIds.of(collection) if collection else None
    counts = (_warned(run_stats(path, ids)) for path in run_paths(paths))
    show_counts(counts, stats_table, output.format, to, _sound)


def _sound(counts: Mapping[str, Any]) -> str:
    queries = count_of(counts["queries"], "query", "queries")
    documents = count_of(counts["documents"], "document", "documents")
    return f"{counts['run']}: sound: {queries}, {documents}"


def _warned(counts: dict[str, Any]) -> dict[str, Any]:
    """The counts of a run, after a warning of ties and of ranks that contradict the scores."""
    if ties := counts["tied_pairs"]:
        caution(f"{counts['run']}: {count_of(ties, 'tied pair', 'tied pairs')} of documents")
    if wrong := counts["contradicting_ranks"]:
        ranks = count_of(wrong, "rank contradicts its score", "ranks contradict their scores")
        caution(f"{counts['run']}: {ranks}; trec_eval goes by the scores")
    return counts


def cut(
    path: File,
    *,
    output: Path = option(REQUIRED, TO_WRITE),
    depth: int = option(REQUIRED, "Documents to keep a query.", COUNT),
    tag: str = option("", TAG),
    force: bool = option(False, FORCE),
) -> None:
    """Keep the first documents of every query."""
    from labeler.runs.rewrite import Change

    _rewrite(path, output, force, Change(_tag(path, tag), depth))


def sort(
    path: File,
    *,
    output: Path = option(REQUIRED, TO_WRITE),
    tag: str = option("", TAG),
    force: bool = option(False, FORCE),
) -> None:
    """Sort by query, then as trec_eval does, and number the ranks anew."""
    from labeler.runs.rewrite import Change

    _rewrite(path, output, force, Change(_tag(path, tag), sort=True))


def convert(
    path: File,
    *,
    output: Path = option(REQUIRED, TO_WRITE),
    tag: str = option("", TAG),
    read_as: RunFormat | None = option(
        None, "The format to read, where the name does not say it.", flags="--from"
    ),
    write_as: RunFormat | None = option(
        None, "The format to write, where the name does not say it.", flags="--to"
    ),
    force: bool = option(False, FORCE),
) -> None:
    """Convert between TREC's columns, BEIR's JSON and parquet, by the files' names."""
    from labeler.runs.rewrite import Change

    change = Change(_tag(path, tag), read_as=read_as or "", write_as=write_as or "")
    _rewrite(path, output, force, change)


def _tag(path: Path, tag: str) -> str:
    from labeler.collection.layout import safe_name
    from labeler.collection.user_files import run_name

    name = run_name(path).removesuffix(".json").removesuffix(".parquet")
    return tag or (safe_name(name) if path.is_file() else "run")


def _rewrite(path: Path, output: Path, force: bool, change: Change) -> None:
    from labeler.collection.user_files import Output
    from labeler.messages import count_of
    from labeler.runs.rewrite import rewrite_run

    lines = rewrite_run(path, Output(output, force), change)
    note(f"wrote {output}: {count_of(lines, 'line', 'lines')}")
