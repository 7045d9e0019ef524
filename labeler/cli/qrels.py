"""`labeler qrels`: look at, check, merge and change qrels files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from labeler.cli.options import FORCE, GRADE_MAP, QUERIES_OF_TEXTS, SCALE, OutputFlags
from labeler.cli.output import lines_to, show, show_counts, show_json
from labeler.cli.screen import caution, note
from labeler.collection.user_files import Output
from labeler.errors import Misuse
from labeler.messages import count_of
from labeler.options import OUTPUT, REQUIRED, Option, option
from labeler.qrels.edit import LISTED, MergeRules, merge_qrels

QrelsFormat = Literal["trec", "beir", "json", "csv", "parquet"]

File = Annotated[
    Path, typer.Argument(metavar="QRELS", help="A qrels file, plain or gzip; - is standard input.")
]
Files = Annotated[list[Path], typer.Argument(metavar="QRELS...", help="Qrels, plain or gzip.")]
TO_WRITE = Option(
    "The qrels to write (.gz is compressed); - is standard output.",
    flags="--output -o",
    panel=OUTPUT,
)


def _wrote(output: Path, lines: int) -> None:

    note(f"wrote {output}: {count_of(lines, 'pair')}")


def stats(paths: Files, *, output: OutputFlags) -> None:
    """Count queries, pairs and grades."""
    from labeler.qrels.stats import qrels_stats, stats_table

    to = output.made_from(*paths)
    show_counts([qrels_stats(path, caution) for path in paths], stats_table, to)


def validate(
    paths: Files,
    *,
    scale: str = option("", "The grades that may occur, as 0,1,2,3."),
    output: OutputFlags,
) -> None:
    """Read files strictly, and check their grades."""
    from labeler.qrels.stats import stats_table, validate_qrels

    try:
        grades = {int(text) for text in scale.split(",") if text}
    except ValueError as error:
        raise Misuse(
            f"cannot read {scale!r:.80}; write the grades as 0,1,2,3", parameter="scale"
        ) from error
    to = output.made_from(*paths)
    counts = (validate_qrels(path, grades, caution) for path in paths)
    show_counts(counts, stats_table, to, _sound)


def _sound(counts: Mapping[str, Any]) -> str:

    pairs = count_of(counts["pairs"], "pair")
    queries = count_of(counts["queries"], "query", "queries")
    return f"{counts['qrels']}: sound: {pairs} of {queries}"


def merge(
    paths: Files,
    *,
    output: Path = option(REQUIRED, TO_WRITE),
    rules: MergeRules,
    conflicts: Path | None = option(
        None, "List all pairs of several grades in this file, with their grades."
    ),
    force: bool = option(False, FORCE),
) -> None:
    """Put qrels together; pairs with several grades are listed.

    People's grades and a model's are put together with --prefer alone.
    """
    from labeler.files.paths import true_path

    listed = Output(conflicts, force, (*paths, output)) if conflicts else None
    if conflicts and true_path(conflicts) == true_path(output):
        raise Misuse("the list and the qrels need two files", parameter="conflicts")
    with lines_to(listed) as each:
        merged = merge_qrels(paths, Output(output, force), rules, caution, each)
    for line in merged.listed:
        note(f"conflict: {line} ({rules.conflict})")
    if merged.conflicts > LISTED:
        more = f"{merged.conflicts - LISTED:,} more conflicts"
        note(f"and {more}; --conflicts FILE lists all" if conflicts is None else f"and {more}")
    pairs = count_of(merged.pairs, "pair")
    note(f"wrote {output}: {pairs}, {count_of(merged.conflicts, 'conflict')}")
    if merged.sources is not None:
        note(f"wrote {merged.sources}: where each line came from")


def map_grades(
    path: File,
    *,
    output: Path = option(REQUIRED, TO_WRITE),
    grade_map: str = option("", GRADE_MAP),
    scale: str = option("", SCALE),
    queries: Path | None = option(None, QUERIES_OF_TEXTS),
    force: bool = option(False, FORCE),
) -> None:
    """Turn ratings of any kind into grades, and queries' texts into ids."""
    from labeler.exchange.qrels import Meaning
    from labeler.qrels.edit import convert_qrels

    meaning = Meaning.of(grade_map, scale, queries)
    if meaning == Meaning():
        raise Misuse("say what becomes of the file: --map, --scale or --queries")
    _wrote(output, convert_qrels(path, Output(output, force), "trec", meaning, caution))


def convert(
    path: File,
    *,
    output: Path = option(
        REQUIRED,
        "The file to write: .qrels, .tsv (BEIR), .json (ranx), .csv or .parquet.",
        flags="--output -o",
        panel=OUTPUT,
    ),
    to: QrelsFormat | None = option(None, "The format to write, where the name does not say it."),
    grade_map: str = option("", GRADE_MAP),
    scale: str = option("", SCALE),
    queries: Path | None = option(None, QUERIES_OF_TEXTS),
    force: bool = option(False, FORCE),
) -> None:
    """Write qrels of any kind as TREC's, BEIR's, JSON, CSV or Parquet."""
    from labeler.exchange.qrels import Meaning
    from labeler.qrels.edit import convert_qrels

    meaning = Meaning.of(grade_map, scale, queries)
    _wrote(output, convert_qrels(path, Output(output, force), to or "", meaning, caution))


def subset(
    path: File,
    *,
    output: Path = option(REQUIRED, TO_WRITE),
    queries: str | None = option(None, "Ids with commas, or a file with one a line."),
    documents: str | None = option(None, "Ids with commas, or a file with one a line."),
    force: bool = option(False, FORCE),
) -> None:
    """Keep the pairs of some queries or documents."""
    from labeler.collection.queries import files_of_ids, parse_ids
    from labeler.qrels.edit import subset_qrels

    query_ids, document_ids = (
        parse_ids(text, name) for text, name in ((queries, "queries"), (documents, "documents"))
    )
    to = Output(output, force, files_of_ids(queries, documents))
    _wrote(output, subset_qrels(path, to, query_ids, document_ids, caution))


def compare(first: File, second: File, *, output: OutputFlags) -> None:
    """Count the pairs of two qrels, and cross-tabulate the grades of common ones."""
    from labeler.qrels.stats import compare_qrels, comparison_table
    from labeler.report.render import FORMS

    to = output.made_from(first, second)
    comparison = compare_qrels(first, second, caution)
    if to.form == "json":
        show_json(comparison, to)
        return
    counts = [f"{key.replace('_', ' ')}: {n:,}" for key, n in comparison.items() if key != "grades"]
    heading = f"{first} (rows) and {second} (columns)\n{', '.join(counts)}"
    table = comparison_table(comparison)
    has_table = bool(table.rows) or not FORMS[to.form].of_prose
    show([heading, table] if has_table else [heading], to)
