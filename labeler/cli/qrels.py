"""`labeler qrels`: look at, check, merge and change qrels files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from labeler.agreement.align import parse_scale
from labeler.cli.options import GRADE_MAP, QUERIES_OF_TEXTS, SCALE, Destination, argument
from labeler.cli.output import lines_to, show, show_counts, show_json
from labeler.cli.screen import caution, note
from labeler.collection.queries import parse_ids
from labeler.collection.user_files import Output
from labeler.errors import Misuse
from labeler.exchange.qrels import Meaning
from labeler.files.paths import true_path
from labeler.messages import count_of
from labeler.options import option
from labeler.qrels.edit import LISTED, MergeRules, convert_qrels, merge_qrels, subset_qrels
from labeler.qrels.stats import (
    compare_qrels,
    comparison_table,
    qrels_stats,
    stats_table,
    validate_qrels,
)
from labeler.report.render import FORMS

QrelsFormat = Literal["trec", "beir", "json", "csv", "parquet"]

File = Annotated[Path, argument("A qrels file, plain or gzip; - is standard input.", "QRELS")]
Files = Annotated[list[Path], argument("Qrels, plain or gzip.", "QRELS...")]


def _wrote(file: Output, lines: int) -> None:
    note(f"wrote {file.path}: {count_of(lines, 'pair')}")


def stats(paths: Files, *, to: Destination) -> None:
    """Count queries, pairs and grades."""
    show_counts([qrels_stats(path, caution) for path in paths], stats_table, to)


def validate(
    paths: Files,
    *,
    scale: str | None = option(None, "The grades that may occur, as 0:3."),
    to: Destination,
) -> None:
    """Read files strictly, and check their grades."""
    grades = {*(parse_scale(scale) or ())}
    show_counts((validate_qrels(path, grades, caution) for path in paths), stats_table, to, _sound)


def _sound(counts: Mapping[str, Any]) -> str:

    pairs = count_of(counts["pairs"], "pair")
    return f"{counts['qrels']}: sound: {pairs} of {count_of(counts['queries'], 'query')}"


def merge(
    paths: Files,
    *,
    rules: MergeRules,
    conflicts: Path | None = option(
        None, "List all pairs of several grades in this file, with their grades."
    ),
    file: Output,
) -> None:
    """Put qrels together; pairs with several grades are listed.

    People's grades and a model's are put together with --prefer alone.
    """
    listed = Output(conflicts, file.force, (*paths, file.path)) if conflicts else None
    if conflicts and true_path(conflicts) == true_path(file.path):
        raise Misuse("the list and the qrels need two files", parameter="conflicts")
    with lines_to(listed) as each:
        merged = merge_qrels(paths, file, rules, caution, each)
    for line in merged.listed:
        note(f"conflict: {line} ({rules.conflict})")
    if merged.conflicts > LISTED:
        more = f"{merged.conflicts - LISTED:,} more conflicts"
        note(f"and {more}; --conflicts FILE lists all" if conflicts is None else f"and {more}")
    pairs = count_of(merged.pairs, "pair")
    note(f"wrote {file.path}: {pairs}, {count_of(merged.conflicts, 'conflict')}")
    if merged.sources is not None:
        note(f"wrote {merged.sources}: where each line came from")


def map_grades(
    path: File,
    *,
    grade_map: str = option("", GRADE_MAP),
    scale: str = option("", SCALE),
    queries: Path | None = option(None, QUERIES_OF_TEXTS),
    file: Output,
) -> None:
    """Turn ratings of any kind into grades, and queries' texts into ids."""
    meaning = Meaning.of(grade_map, scale, queries)
    if meaning == Meaning():
        raise Misuse("say what becomes of the file: --map, --scale or --queries")
    _wrote(file, convert_qrels(path, file, "trec", meaning, caution))


def convert(
    path: File,
    *,
    to: QrelsFormat | None = option(None, "The format to write, where the name does not say it."),
    grade_map: str = option("", GRADE_MAP),
    scale: str = option("", SCALE),
    queries: Path | None = option(None, QUERIES_OF_TEXTS),
    file: Output,
) -> None:
    """Write qrels of any kind as TREC's, BEIR's, JSON, CSV or Parquet.

    The output's name says which: .qrels, .tsv (BEIR), .json (ranx), .csv or .parquet.
    """
    meaning = Meaning.of(grade_map, scale, queries)
    _wrote(file, convert_qrels(path, file, to or "", meaning, caution))


def subset(
    path: File,
    *,
    queries: str | None = option(None, "Ids with commas, or a file with one a line."),
    documents: str | None = option(None, "Ids with commas, or a file with one a line."),
    file: Output,
) -> None:
    """Keep the pairs of some queries or documents."""
    query_ids, document_ids = (
        parse_ids(text, name) for text, name in ((queries, "queries"), (documents, "documents"))
    )
    _wrote(file, subset_qrels(path, file, query_ids, document_ids, caution))


def compare(first: File, second: File, *, to: Destination) -> None:
    """Count the pairs of two qrels, and cross-tabulate the grades of common ones."""
    comparison = compare_qrels(first, second, caution)
    if to.form == "json":
        show_json(comparison, to)
        return
    counts = [f"{key.replace('_', ' ')}: {n:,}" for key, n in comparison.items() if key != "grades"]
    heading = f"{first} (rows) and {second} (columns)\n{', '.join(counts)}"
    table = comparison_table(comparison)
    show([heading, table] if table.rows or not FORMS[to.form].of_prose else [heading], to)
