"""`labeler runs`: runs made of runs, looked at, checked, cut, sorted and converted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from labeler.cli.model_options import ModelFlags, ShownFlags
from labeler.cli.options import QUERIES_OF_TEXTS, Destination, Opened, argument
from labeler.cli.output import show_counts
from labeler.cli.reporting import asked, show_calls, show_outcome
from labeler.cli.screen import caution, note, say
from labeler.collection.layout import safe_name
from labeler.collection.user_files import Output, run_name, run_paths
from labeler.messages import cost_of, count_of
from labeler.options import COUNT, OUTPUT, REQUIRED, Option, option
from labeler.runs.fuse import SCORES, Fusion, fuse_files, weights_of
from labeler.runs.rerank import RerankOptions, RerankResult, arerank
from labeler.runs.rewrite import Change, rewrite_run
from labeler.runs.stats import run_stats, stats_table

RunFormat = Literal["trec", "json", "parquet", "csv", "xlsx"]
FORMATS_HELP = "TREC's columns, BEIR's .json, .csv or .parquet, by its name"
File = Annotated[
    Path,
    argument(f"A run ({FORMATS_HELP}; gzip too); - is standard input.", "RUN"),
]
Files = Annotated[
    list[Path],
    argument(f"Runs ({FORMATS_HELP}), or a folder of them.", "RUN..."),
]
TAG = Option("The run's last column; its name where not given.", panel=OUTPUT)


def stats(paths: Files, *, to: Destination) -> None:
    """Count queries, documents, ties, and ranks that contradict their scores."""
    show_counts([run_stats(path) for path in run_paths(paths)], stats_table, to)


def validate(paths: Files, *, to: Destination) -> None:
    """Read runs strictly; warn of ties and ranks that contradict scores."""
    show_counts((_warned(run_stats(path)) for path in run_paths(paths)), stats_table, to, _sound)


def _sound(counts: Mapping[str, Any]) -> str:
    queries = count_of(counts["queries"], "query")
    return f"{counts['run']}: sound: {queries}, {count_of(counts['documents'], 'document')}"


def _warned(counts: dict[str, Any]) -> dict[str, Any]:
    """The counts of a run, after a warning of ties and of ranks that contradict the scores."""
    if ties := counts["tied_pairs"]:
        caution(f"{counts['run']}: {count_of(ties, 'tied pair')} of documents")
    if wrong := counts["contradicting_ranks"]:
        ranks = count_of(wrong, "rank contradicts its score", "ranks contradict their scores")
        caution(f"{counts['run']}: {ranks}; trec_eval goes by the scores")
    return counts


def cut(
    path: File,
    *,
    depth: int = option(REQUIRED, "Documents to keep a query.", COUNT),
    tag: str = option("", TAG),
    file: Output,
) -> None:
    """Keep the first documents of every query."""
    _rewrite(path, file, Change(_tag(path, tag), depth))


def sort(
    path: File,
    *,
    tag: str = option("", TAG),
    file: Output,
) -> None:
    """Sort by query, then as trec_eval does, and number the ranks anew."""
    _rewrite(path, file, Change(_tag(path, tag), sort=True))


def convert(
    path: File,
    *,
    tag: str = option("", TAG),
    read_as: RunFormat | None = option(
        None, "The format to read, where the name does not say it.", flags="--from"
    ),
    write_as: RunFormat | None = option(
        None, "The format to write, where the name does not say it.", flags="--to"
    ),
    queries: Path | None = option(None, QUERIES_OF_TEXTS),
    file: Output,
) -> None:
    """Convert between TREC's columns, BEIR's JSON and parquet, by the files' names."""
    tag = _tag(path, tag)
    change = Change(tag, read_as=read_as or "", write_as=write_as or "", queries=queries)
    _rewrite(path, file, change)


def _tag(path: Path, tag: str) -> str:

    name = run_name(path).removesuffix(".json").removesuffix(".parquet")
    return tag or (safe_name(name) if path.is_file() else "run")


def _rewrite(path: Path, file: Output, change: Change) -> None:
    note(f"wrote {file.path}: {count_of(rewrite_run(path, file, change, caution), 'line')}")


def rerank(
    collection: Opened,
    run: Annotated[str, argument("A run of the collection by its name, or a file.", "RUN")],
    *,
    name: str = option(REQUIRED, "The new run's name.", flags="--as", panel=OUTPUT),
    options: RerankOptions,
    who: ModelFlags,
    flags: ShownFlags,
    to: Destination,
) -> None:
    """Put a run's first documents in the order of an LLM.

    It sees a window of them at a time. What was answered is kept: run again, only the rest is
    asked for.
    """
    act = partial(arerank, collection, run, name, who.asking(options, force=to.force))
    show_outcome(asked(flags, act, show_calls, to), _show, to)


def _show(result: RerankResult) -> None:
    say(f"{result.documents:,} documents of {result.queries:,} queries")
    if result.windows:
        say(f"windows ordered: {result.windows - result.untouched:,} of {result.windows:,}")
        cost = cost_of(result.cost, result.cost_at_most)
        say(f"cost of this run: {cost}; calls: {result.spent.calls:,}")
    if result.untouched:
        note(f"{result.untouched:,} windows kept their order: no reply was an order of them")
    note(f"wrote {result.run}")


def fuse(
    runs: Annotated[
        list[Path],
        argument("Two runs or more (.json, .parquet too), or a folder of them.", "RUNS..."),
    ],
    *,
    fusion: Fusion,
    weights: str = option("", "For wsum, one for each run in order: 0.3,0.7.", panel=SCORES),
    tag: str = option("fused", "The run's last column.", panel=OUTPUT),
    file: Output,
) -> None:
    """Fuse runs, by rank (RRF) or by score."""
    runs = run_paths(runs)
    fusion = replace(fusion, weights=weights_of(weights))
    queries, lines = fuse_files(runs, file, fusion, tag, caution)
    note(
        f"wrote {file.path}: {count_of(queries, 'query')}, {count_of(lines, 'line')} "
        f"from {len(runs)} runs by {fusion.method}"
    )
