"""What other people's packages bring: their entry points fill the same registries as our modules.

A package names what it brings in its `pyproject.toml`, by the key that it has in the registry:

    [project.entry-points."ir_labeler.statistics"]
    yule-q = "their_package.statistics:YULE_Q"

- `ir_labeler.commands`: a `labeler.cli.table.Command`, of one word or of one of the groups
- `ir_labeler.readers`: of texts with an ending, as `.org`; a function from a text to its title and
  its blocks, as `labeler.corpus.readers.outline.read_plaintext`
- `ir_labeler.retrievers`: a `labeler.runs.retrieve.Engine`, as `retrieve` asks one of a name
- `ir_labeler.statistics`: a `labeler.agreement.statistics.Statistic`
"""

from __future__ import annotations

import sys
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeVar

from labeler.errors import Misconfigured

Kind = Literal["commands", "readers", "retrievers", "statistics"]
Value = TypeVar("Value")


def fill(registry: dict[str, Value], kind: Kind, expected: type) -> None:
    """Add to a registry what installed packages bring of a kind; what is in it already stays.

    They are looked for once in a process. One that cannot be loaded, or is not what is expected, is
    left out with a warning that names its package.
    """
    for name, value in brought(kind, expected).items():
        registry.setdefault(name, value)


@cache
def brought(kind: Kind, expected: type) -> dict[str, Any]:
    """What installed packages bring of a kind, by the names of their entry points."""
    group = f"ir_labeler.{kind}"
    if not any(map(_may_hold, sys.path, (group,) * len(sys.path))):
        return {}
    from importlib.metadata import entry_points  # takes as long to load as all of `labeler --help`

    values = {}
    for entry in entry_points(group=group):
        try:
            value = entry.load()
            if not isinstance(value, expected):
                raise Misconfigured(f"expected {expected.__name__}, found {type(value).__name__}")
            values[entry.name] = value
        except Exception as error:  # whatever their package raises
            _warn(kind, entry, error)
    return values


def _may_hold(folder: str, group: str) -> bool:
    """Whether a folder of packages has entry points of a group; one in an archive may have them."""
    path = Path(folder)
    infos = chain(path.glob("*.dist-info/entry_points.txt"), path.glob("*.egg-info/*points.txt"))
    return path.is_file() or any(group.encode() in info.read_bytes() for info in infos)


def _warn(kind: Kind, entry: Any, error: Exception) -> None:
    import logging

    package = entry.dist.name if entry.dist else entry.value
    problem = f"{type(error).__name__}: {error}".splitlines()[0]
    logging.getLogger("labeler").warning(
        "warning: %r of the package %s cannot be used as one of labeler's %s: %s",
        *(entry.name, package, kind, problem),
    )
