"""`labeler qrels`: look at, check, merge and change qrels files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from labeler.cli.screen import note, say, table

app = typer.Typer(help="Look at, check, merge and change qrels files.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(metavar="QRELS", help="A qrels file, plain or gzip.")]
Output = Annotated[Path, typer.Option("-o", help="The qrels to write.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _print(found: dict[str, Any], *, as_json: bool) -> None:
    for warning in found.pop("warnings", []):
        note(f"warning: {warning}")
    if as_json:
        say(json.dumps(found, indent=1))
        return
    rows = [(key.replace("_", " "), _flat(value)) for key, value in found.items()]
    table(("", ""), rows, left=2)


def _flat(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {inner}" for key, inner in value.items())
    return str(value)


@app.command(epilog="Example: labeler qrels stats human.qrels")
def stats(path: File, *, as_json: Json = False) -> None:
    """Count queries, pairs and grades."""
    from labeler.trec_files import qrels_stats

    _print(qrels_stats(path), as_json=as_json)


@app.command(epilog="Example: labeler qrels validate human.qrels --scale 0,1,2,3")
def validate(
    path: File,
    *,
    scale: Annotated[str, typer.Option(help="The grades that may occur, as 0,1,2,3.")] = "",
    as_json: Json = False,
) -> None:
    """Read a file strictly, and check that its grades are on the scale."""
    from labeler.errors import Misuse
    from labeler.trec_files import validate_qrels

    try:
        grades = {int(text) for text in scale.split(",") if text}
    except ValueError as error:
        raise Misuse(f"cannot read the scale {scale!r}; write it as 0,1,2,3") from error
    _print(validate_qrels(path, grades), as_json=as_json)


@app.command(epilog="Example: labeler qrels merge a.qrels b.qrels -o all.qrels --conflict max")
def merge(
    paths: Annotated[list[Path], typer.Argument(metavar="QRELS...", help="Qrels files.")],
    *,
    output: Output,
    conflict: Annotated[
        str, typer.Option(help="Pairs of several grades: error, first, last, max or min.")
    ] = "error",
) -> None:
    """Put qrels together; pairs with several grades are listed."""
    from labeler.formats.trec import write_qrels
    from labeler.trec_files import merge_qrels

    merged, conflicts = merge_qrels(paths, conflict)
    write_qrels(output, merged)
    for line in conflicts:
        note(f"conflict: {line} ({conflict})")
    note(f"wrote {output}: {sum(map(len, merged.values()))} pairs, {len(conflicts)} conflicts")


@app.command(epilog="Example: labeler qrels binarise human.qrels -o binary.qrels --at 2")
def binarise(
    path: File,
    *,
    output: Output,
    at: Annotated[int, typer.Option(help="The lowest grade that becomes 1.")] = 1,
) -> None:
    """Turn grades into 1 and 0; negative ones, pooled but not judged, stay."""
    from labeler.formats.trec import read_qrels, write_qrels
    from labeler.trec_files import regraded

    found = regraded(read_qrels(path), lambda grade: grade if grade < 0 else int(grade >= at))
    write_qrels(output, found)


@app.command("map", epilog="Example: labeler qrels map a.qrels -o b.qrels --grades 1:0,2:1,3:2")
def map_grades(
    path: File,
    *,
    output: Output,
    grades: Annotated[str, typer.Option(help="Each grade and what becomes of it: 1:0,2:1.")],
) -> None:
    """Replace grades by others; a grade that the mapping lacks is an error."""
    from labeler.formats.trec import read_qrels, write_qrels
    from labeler.trec_files import mapped, mapping_of

    write_qrels(output, mapped(read_qrels(path), mapping_of(grades)))


@app.command(epilog="Example: labeler qrels clip llm.qrels -o clipped.qrels --low 0 --high 3")
def clip(
    path: File,
    *,
    output: Output,
    low: Annotated[int, typer.Option(help="Lower grades become this.")] = 0,
    high: Annotated[int, typer.Option(help="Higher grades become this.")],
) -> None:
    """Move grades outside a scale to its ends."""
    from labeler.errors import Misuse
    from labeler.formats.trec import read_qrels, write_qrels
    from labeler.trec_files import regraded

    if low > high:
        raise Misuse("--low is above --high")
    write_qrels(output, regraded(read_qrels(path), lambda grade: min(max(grade, low), high)))


@app.command(epilog="Example: labeler qrels subset human.qrels -o some.qrels --queries q1,q7")
def subset(
    path: File,
    *,
    output: Output,
    queries: Annotated[str, typer.Option(help="Ids with commas, or a file with one a line.")],
) -> None:
    """Keep some queries."""
    from labeler.files import numbered_lines
    from labeler.formats.trec import read_qrels, write_qrels
    from labeler.trec_files import subset as chosen

    named = Path(queries)
    ids = (
        [line.split()[0] for _, line in numbered_lines(named) if line.split()]
        if (named.is_file())
        else [text for text in queries.split(",") if text]
    )
    write_qrels(output, chosen(read_qrels(path), ids))


@app.command(epilog="Example: labeler qrels compare human.qrels llm.qrels")
def compare(first: File, second: File, *, as_json: Json = False) -> None:
    """Count the pairs of two qrels, and cross-tabulate the grades of common ones."""
    from labeler.formats.trec import read_qrels
    from labeler.trec_files import compare_qrels

    found = compare_qrels(read_qrels(first), read_qrels(second))
    if as_json:
        say(json.dumps(found, indent=1))
        return
    grades = found.pop("grades")
    _print(found, as_json=False)
    table(("first", "second", "pairs"), [tuple(map(str, row.values())) for row in grades], left=0)
