"""`labeler validate`: whether the files of a collection fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labeler.cli.options import Folder, OutputFlags
from labeler.cli.output import show as show_tables
from labeler.cli.output import show_json
from labeler.cli.screen import note, progress, say
from labeler.errors import BadInput
from labeler.messages import count_of
from labeler.options import option
from labeler.report.printable import flat

if TYPE_CHECKING:
    from labeler.collection.validate import Validation


def command(
    folder: Folder,
    *,
    strict: bool = option(False, "Fail at warnings, too."),
    output: OutputFlags,
) -> None:
    """Check a whole collection: ids, hashes, counts.

    It says where its files contradict one another, too.
    """
    from labeler.collection.validate import validate
    from labeler.models.control import Control

    to = output.made_from(folder)
    result = validate(folder, control=Control(note=note, progress=progress))
    if output.format == "json":
        show_json(result.as_json(), to)
    elif output.format == "table" and to is None:
        _show(result)
    else:
        show_tables([result.table()], output.format, to)
    if not result.is_valid(strict=strict):
        raise BadInput(f"{folder}: {_counts(result)}")


def _show(result: Validation) -> None:
    for problem in result.problems:
        say(f"{problem.level}: {flat(str(problem))}")
    documents = count_of(result.checked["documents"], "document", "documents")
    queries = count_of(result.checked["queries"], "query", "queries")
    if result.is_valid():
        say(f"{documents}, {queries}: {_counts(result)}")


def _counts(result: Validation) -> str:
    errors = count_of(result.errors, "error", "errors")
    return f"{errors}, {count_of(result.warnings, 'warning', 'warnings')}"
