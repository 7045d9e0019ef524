"""`labeler run`: look at, check, cut, sort and convert runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.qrels import Json, _print
from labeler.cli.screen import note

app = typer.Typer(help="Look at, check, cut, sort and convert runs.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(metavar="RUN", help="A run, plain or gzip.")]
Output = Annotated[Path, typer.Option("-o", help="The run to write.")]
Tag = Annotated[str, typer.Option(help="The run's last column; its name where not given.")]


@app.command(epilog="Example: labeler run stats bm25.trec")
def stats(path: File, *, as_json: Json = False) -> None:
    """Count queries, documents, ties, and ranks that contradict their scores."""
    from labeler.trec_files import run_stats

    _print(run_stats(path), as_json=as_json)


@app.command(epilog="Example: labeler run validate bm25.trec.gz")
def validate(path: File) -> None:
    """Read a run strictly; warn of ties and of ranks that contradict their scores."""
    from labeler.trec_files import run_stats

    found = run_stats(path)
    note(f"{path}: {found['queries']} queries, {found['documents']} documents")
    for key in ("tied_pairs", "contradicting_ranks"):
        if found[key]:
            note(f"warning: {found[key]} {key.replace('_', ' ')}")


@app.command(epilog="Example: labeler run cut bm25.trec -o top100.trec --depth 100")
def cut(
    path: File,
    *,
    output: Output,
    depth: Annotated[int, typer.Option(help="Documents to keep a query.")],
    tag: Tag = "",
) -> None:
    """Keep the first documents of every query."""
    from labeler.run_names import run_name
    from labeler.trec_files import cut_run, read_any_run, write_any_run

    write_any_run(output, cut_run(read_any_run(path), depth), tag or run_name(path))


@app.command(epilog="Example: labeler run sort bm25.trec -o sorted.trec")
def sort(path: File, *, output: Output, tag: Tag = "") -> None:
    """Sort by query, then as trec_eval does, and number the ranks anew."""
    from labeler.run_names import run_name
    from labeler.trec_files import read_any_run, sorted_run, write_any_run

    write_any_run(output, sorted_run(read_any_run(path)), tag or run_name(path))


@app.command(epilog="Example: labeler run convert bm25.trec.gz -o bm25.json")
def convert(path: File, *, output: Output, tag: Tag = "") -> None:
    """Convert between TREC's columns, BEIR's JSON and parquet, by the files' names."""
    from labeler.run_names import run_name
    from labeler.trec_files import read_any_run, write_any_run

    write_any_run(output, read_any_run(path), tag or run_name(path))
