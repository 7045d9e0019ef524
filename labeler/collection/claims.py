"""Claims: while a process makes a file of a collection, nobody makes it in another way.

A model is asked for hours, so that the collection's lock cannot be held meanwhile. A claim is a
file beside the one that is made: it says what makes it, and is locked as long as its process runs.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from labeler.collection.layout import Collection
from labeler.collection.lock import check_locked, is_acquired, lock_file
from labeler.errors import Misuse
from labeler.files.read import file_problems


class MadeFile(NamedTuple):
    """A file of a collection and what makes it; `advice` ends the message where that clashes."""

    collection: Collection
    path: Path
    made_by: Mapping[str, Any]
    advice: str
    parameter: str = ""


@contextmanager
def claimed(made: MadeFile) -> Iterator[None]:
    """Claim a file of a collection for one way of making it, as long as the block runs.

    Processes that make it in the same way share it. The collection must be locked where the block
    begins. Raises `Misuse` where a process that runs now makes the file in another way.
    """
    check_locked(made.collection.folder)
    text = json.dumps({"process": os.getpid(), "made_by": dict(made.made_by)}, default=dict)
    for claim in _running_claims(made.path):
        _refuse_another(made, claim, json.loads(text)["made_by"])
    name = f".{made.path.name}.{os.getpid()}-{secrets.token_hex(4)}.claim"
    with file_problems(made.path.parent):
        made.path.parent.mkdir(parents=True, exist_ok=True)
        own = made.path.with_name(name)
        lock = lock_file(own)
        is_acquired(lock)  # nobody else knows the name
    try:
        with file_problems(own):
            own.write_text(text, encoding="utf-8")
        yield
    finally:
        with suppress(OSError):  # Windows keeps a file that is open
            own.unlink()
        lock.release()
        own.unlink(missing_ok=True)


def _running_claims(path: Path) -> Iterator[Mapping[str, Any]]:
    """The claims on a file whose processes run; those of processes that were killed are removed."""
    name = re.compile(rf"\.{re.escape(path.name)}\.\d+-[0-9a-f]+\.claim")
    with file_problems(path.parent):
        beside = list(path.parent.iterdir()) if path.parent.is_dir() else []
        for claim in (p for p in beside if name.fullmatch(p.name)):
            lock = lock_file(claim)
            if not is_acquired(lock):
                yield _content(claim)
                continue
            claim.unlink(missing_ok=True)
            lock.release()


def _content(claim: Path) -> Mapping[str, Any]:
    """What a claim says; nothing where it was removed just now."""
    try:
        content = json.loads(claim.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _refuse_another(made: MadeFile, claim: Mapping[str, Any], made_by: Mapping[str, Any]) -> None:
    theirs = claim.get("made_by")
    if not isinstance(theirs, dict) or theirs == made_by:
        return
    what = next(what for what in made_by if made_by[what] != theirs.get(what))
    difference = f"with {what} {theirs.get(what)}, not {made_by[what]}"
    problem = f"process {claim.get('process')} is making {made.path} {difference}; {made.advice}"
    raise Misuse(problem, parameter=made.parameter or what)
