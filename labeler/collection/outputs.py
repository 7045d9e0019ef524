"""Files that a user named to be written, and what must not be replaced there.

Every write to such a path goes through here. Nothing is written onto an input, onto a file that
a collection's own commands write, or onto a file that holds something else than what was written
there before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from labeler.collection.layout import collection_files, is_own_file, is_worked_on
from labeler.errors import Misuse
from labeler.files.atomic import refuse_read_only
from labeler.files.read import STANDARD
from labeler.files.special import is_special
from labeler.files.written import is_as_written, recording


@dataclass(frozen=True, slots=True)
class Output:
    """A path to write to, as a user named it; with `force` whatever stands there is replaced.

    `inputs` are the files and collections that the result is made from. With `of_export` it may be
    called as a collection's file is, in a folder that holds no collection of this tool's making.
    """

    path: Path
    force: bool = False
    inputs: tuple[Path, ...] = ()
    of_export: bool = False

    @classmethod
    def of(cls, output: Output | Path | str, inputs: Iterable[Path | str] = ()) -> Output:
        """An output, with more inputs; a path is one that nothing is forced onto."""
        whole = output if isinstance(output, Output) else cls(Path(output))
        return replace(whole, inputs=(*whole.inputs, *map(Path, inputs)))

    def check(self) -> None:
        """`Misuse`, or `FileProblem` of a read-only file, where writing would destroy something.

        What is no regular file is written through, which destroys nothing.
        """
        if is_special(self.path):
            return
        is_exported = self.of_export and not is_worked_on(self.path.parent)
        if is_own_file(self.path) and not is_exported:
            problem = "a file of a collection's own, which its commands write; name another file"
            raise Misuse(f"{self.path}: {problem}")
        if self.force or not self.path.exists():
            return
        for path in _files_of(self.inputs):
            if path.is_file() and path.samefile(self.path):
                raise _refusal(self.path, "is one of the inputs")
        if self.path.stat().st_size and not is_as_written(self.path):
            raise _refusal(self.path, "holds something else than what was written there before")
        refuse_read_only(self.path)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Check the output, and keep a record of what the block writes there."""
        self.check()
        with recording(self.path, force=self.force):
            yield


def _refusal(path: Path, problem: str) -> Misuse:
    ways = "name another file, or set this to replace it"
    return Misuse(f"{path} {problem}; {ways}", parameter="force")


def _files_of(inputs: Iterable[Path]) -> Iterator[Path]:
    """The inputs, and in place of a collection the files in it."""
    for path in inputs:
        if path.is_dir():
            yield from collection_files(path)
        elif path != STANDARD:
            yield path
