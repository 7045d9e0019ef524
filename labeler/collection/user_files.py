"""Files that a user named to be written, and what must not be replaced there.

Every write to such a path goes through here. Nothing is written onto an input, onto a file that
a collection's own commands write, or onto a file that holds something else than what was written
there before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from labeler.collection.layout import (
    RUN_FILE,
    collection_files,
    is_collection,
    is_own_file,
    is_worked_on,
    next_for_qrels,
    open_collection,
)
from labeler.errors import FileProblem, Misuse
from labeler.files.atomic import (
    is_as_written,
    is_special,
    recording,
    refuse_read_only,
    replacing_bytes,
)
from labeler.files.paths import named_file
from labeler.files.read import STANDARD

# Which files an evaluation reads, and what its runs are called.

RUN_SUFFIXES = (".gz", ".trec", ".run", ".txt")
OTHER_SUFFIXES = (".json", ".jsonl", ".csv", ".tsv", ".parquet", ".xlsx")
"""What runs of other tools are called, in a folder that is no collection."""


def run_paths(sources: Iterable[Path]) -> list[Path]:
    """Files of runs as they stand, `NAME=FILE` too; in place of a folder the runs in it."""
    return [file for path in sources for file in _runs_of(path)]


def _runs_of(path: Path) -> list[Path]:
    name, file = named_file(path)
    runs = runs_in(file) if file.is_dir() else [path]
    if name and file.is_dir():
        raise Misuse(f"{path}: a folder; name each of its runs, as {name}={runs[0]}")
    return runs


def runs_named(folder: Path, words: Sequence[Path]) -> list[Path]:
    """Runs of a collection by their names, and files of others; without any, all of its own."""
    if not words:
        return collection_runs(folder)
    own = open_collection(folder).run_files()
    return run_paths(word if word.exists() else own.get(str(word), word) for word in words)


def runs_in(folder: Path) -> list[Path]:
    """The runs of a collection; of another folder, the files in it that are called as runs are."""
    if _has_own_runs(folder):
        return collection_runs(folder)
    if not (runs := sorted(filter(_is_called_a_run, folder.glob("[!.]*")))):
        raise FileProblem(f"{folder}: no run in it (*.trec, *.run, *.txt, also .gz)")
    return runs


def _has_own_runs(folder: Path) -> bool:
    return is_collection(folder) or (folder / "runs").is_dir()


def _is_called_a_run(path: Path) -> bool:
    name = path.name.casefold()
    bare = name.removesuffix(".gz")
    return name.endswith(RUN_SUFFIXES) or bare.endswith(OTHER_SUFFIXES)


def unread_in(folder: Path) -> list[Path]:
    """The files among runs whose names do not say that they are runs, sorted."""
    if _has_own_runs(folder):
        files = (folder / "runs").glob("[!.]*")
        return sorted(path for path in files if not RUN_FILE.fullmatch(path.name))
    files = filter(Path.is_file, folder.glob("[!.]*"))
    return sorted(path for path in files if not _is_called_a_run(path))


def collection_runs(folder: Path) -> list[Path]:
    """The runs of a collection, the files in its `runs/`."""
    runs = [*open_collection(folder).run_files().values()]
    if not runs:
        raise Misuse(
            f"{folder}/runs holds no run (*.trec, *.run, *.txt, also .gz); "
            f"make some: labeler pool {folder}"
        )
    return runs


COMPARED = ".compared"
"""What is behind an assessor's name in that of its grades for pairs that a comparison asked for."""


def collection_qrels(folder: Path, name: str | None) -> Path:
    """`qrels/NAME.qrels` of a collection: by default `human`, else the only one there is."""
    collection = open_collection(folder)
    every = collection.qrels_names()
    names = [own for own in every if not own.endswith(COMPARED)] or every
    if name is None and len(names) > 1 and "human" not in names:
        problem = f"{folder} has several qrels, none of them human; choose one: {', '.join(names)}"
        raise Misuse(problem, parameter="qrels")
    if name is None and not names:
        raise Misuse(f"{folder} has no qrels yet; next: {next_for_qrels(folder)}")
    return collection.existing_qrels(name or ("human" if "human" in names else names[0]))


def run_name(path: Path) -> str:
    """A run's file name less `.gz` and what tells its format: `.trec`, `.json`, `.csv` …"""
    given, file = named_file(path)
    if given:
        return given
    name = file.name
    while name.casefold().endswith((*RUN_SUFFIXES, *OTHER_SUFFIXES)):
        name = name[: name.rindex(".")]
    return name or path.name


def runs_by_name(paths: Sequence[Path]) -> dict[str, Path]:
    """Run names to files. Files of one name in several folders are called by these, too.

    Two of one name in one folder are `Misuse`.
    """
    names = [run_name(path) for path in paths]
    times = Counter(names)
    paths_by_run: dict[str, Path] = {}
    for path, short in zip(paths, names, strict=True):
        given, file = named_file(path)
        is_alone = given or times[short] == 1
        name = short if is_alone else f"{file.absolute().parent.name}/{short}"
        if name in paths_by_run:
            problem = f"{paths_by_run[name]} and {path} are both the run {short!r}"
            raise Misuse(f"{problem}; rename one, or write NAME={file}")
        paths_by_run[name] = file
    return paths_by_run


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

    def write(self, content: str | bytes) -> None:
        """Write all that the output holds, text as UTF-8; whole or not at all."""
        with self.writing(), replacing_bytes(self.path) as out:
            out.write(content.encode() if isinstance(content, str) else content)


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
