"""What a file, a folder or a ZIP archive holds, before anything of it is taken: its plan."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from labeler.errors import BadInput, LabelerError, TooLarge
from labeler.exchange.any_table import is_fed, rows_of_any
from labeler.exchange.contents import (
    DOCUMENTS,
    GRADES,
    QUERIES,
    RANKINGS,
    WORDS,
    role_of,
)
from labeler.exchange.formats import held_by
from labeler.exchange.qrels import judged_in
from labeler.exchange.queries import read_query_list
from labeler.exchange.runs import scored_in
from labeler.exchange.shapes import TREC
from labeler.exchange.tables import has_column, refuse_pairs
from labeler.files.boundary import reading
from labeler.files.read import file_problems, in_megabytes, most_unpacked, rereadable
from labeler.messages import count_of, told_what_files_are
from labeler.report.result import Result
from labeler.trec import files as trec

_ROWS = (".jsonl", ".ndjson", ".json", ".parquet", ".csv", ".tsv", ".arrow", ".xlsx")
_PAIRS = (*_ROWS, ".qrels", ".trec", ".run", ".txt")
OF_DATASETS = ("dataset_info.json", "dataset_dict.json", "state.json")
"""What `save_to_disk` of Hugging Face's datasets writes beside the rows."""

_BODIES = ("text", "content", "contents", "body", "passage")
_TITLE = ("title",)
_TEXTS = (*_BODIES, *_TITLE, "name", "description")


LONG_QUERY = 120
"""Characters; where nothing says what texts are, and half of them are longer, they are passages."""


def is_bundle(names: list[str]) -> bool:
    """Whether these lie in one folder: a corpus, and what belongs to it."""
    has_corpus = any("corpus" in WORDS.split(name.casefold()) for name in names)
    return has_corpus and any(role_of(name) in (QUERIES, GRADES) for name in names)


@dataclass(frozen=True)
class PlannedPart:
    """What is taken from a file: `what` is documents, queries, grades or rankings.

    `count` is of documents, of queries, or of pairs of a query and a document.
    """

    what: str
    file: str
    form: str
    count: int


@dataclass(frozen=True, eq=False, repr=False)
class ImportPlan(Result):
    """What a source is and what is taken from it, what it leaves, and what is refused, and why."""

    source: str
    kind: str
    taken: tuple[PlannedPart, ...]
    left: tuple[str, ...]
    refused: tuple[str, ...]

    def of(self, source: Path, inside: Path) -> ImportPlan:
        """The same as files of the source that was unpacked into a folder."""
        if source == inside:
            return self

        def named(text: str) -> str:
            return text.replace(str(inside), str(source))

        taken = (replace(each, file=named(each.file)) for each in self.taken)
        refused = tuple(map(named, self.refused))
        return replace(self, source=str(source), taken=tuple(taken), refused=refused)

    def files(self, what: str) -> list[Path]:
        """The files that hold documents, queries, grades or rankings."""
        return [Path(each.file) for each in self.taken if each.what == what]


def plan_of(source: Path) -> ImportPlan:
    """What a file, a folder or an unpacked archive holds; nothing of it is kept.

    `BadInput` of a single file that holds nothing of use.
    """
    if source.is_dir():
        return _of_folder(source)
    taken, refusals = list[PlannedPart](), list[str]()
    held, named = held_by(source), role_of(source.name)
    roles = (GRADES, RANKINGS) if held.shape == TREC else (named,) if named else _COUNTS
    for role in roles:
        try:
            taken.append(_looked_at(source, role))
        except LabelerError as error:
            refusals.append(str(error).removeprefix(f"{source}: "))
    if not taken:
        problem = f"nothing to take: {'; '.join(dict.fromkeys(refusals))}"
        raise BadInput(f"{source}: {problem}")
    if held.contents:
        return ImportPlan(str(source), held.contents.kind, tuple(taken), (), ())
    kind, left = taken[0].form, list[str]()
    if {DOCUMENTS, QUERIES} <= {each.what for each in taken}:
        role, other = (DOCUMENTS, QUERIES) if _are_passages(source) else (QUERIES, DOCUMENTS)
        taken = [each for each in taken if each.what != other]
        what = f"its texts look like {role}; as {other}, it needs a name such as"
        left.append(f"{source.name}: {what} {other}{''.join(source.suffixes)}")
    return ImportPlan(str(source), kind, tuple(taken), tuple(left), ())


def _are_passages(path: Path) -> bool:
    """Whether texts are documents rather than queries: of an engine, with titles, or as long."""
    columns = rows_of_any(path, "id and text").columns
    if is_fed(held_by(path)) or (has_column(columns, _TITLE) and has_column(columns, _BODIES)):
        return True
    with told_what_files_are(lambda _line: None):
        return median(len(each.text) for each in read_query_list(path).values()) > LONG_QUERY


def is_archive(source: Path) -> bool:
    """Whether this is a ZIP archive by its name and by its content."""
    is_named = source.suffix.casefold() == ".zip" and source.is_file()
    return is_named and zipfile.is_zipfile(source)


@contextmanager
def opened(source: Path) -> Iterator[Path]:
    """The folder that a ZIP archive holds, while a block runs; any other source as it is.

    `BadInput` of an archive whose members lead out of it, `TooLarge` of one that unpacks to far
    more than texts do.
    """
    if not is_archive(source):
        yield source
        return
    with TemporaryDirectory(prefix="labeler-") as folder, file_problems(source), reading(source):
        with zipfile.ZipFile(source) as archive:
            size, most = 0, most_unpacked(source.stat().st_size)
            for member in archive.infolist():
                size += member.file_size
                if size > most:
                    raise TooLarge(f"{source}: it unpacks to more than {in_megabytes(most)}")
                path = Path(folder, member.filename)
                if Path(folder).resolve() not in (path.resolve(), *path.resolve().parents):
                    raise BadInput(f"{source}: {member.filename!r} leads out of the archive")
            archive.extractall(folder)
        inside = [path for path in Path(folder).iterdir() if path.name != "__MACOSX"]
        yield inside[0] if len(inside) == 1 and inside[0].is_dir() else Path(folder)


def _of_folder(folder: Path) -> ImportPlan:
    taken: list[PlannedPart] = []
    left: list[str] = []
    refused: list[str] = []
    every = (path for path in sorted(folder.rglob("[!.]*")) if path.is_file())
    files = [path for path in every if path.name not in OF_DATASETS]
    for path in files:
        role = _role_in(folder, path)
        name = path.relative_to(folder).as_posix()
        if not role or not path.name.casefold().removesuffix(".gz").endswith(_PAIRS):
            left.append(f"{name}: its name says nothing of documents, queries, grades or rankings")
            continue
        try:
            taken.append(_looked_at(path, role))
        except LabelerError as error:
            refused.append(str(error))
    counts = {each.what for each in taken}
    is_saved = (folder / "dataset_dict.json").exists() or (folder / "state.json").exists()
    kind = "a data set saved by Hugging Face's datasets" if is_saved else "a folder"
    kind = "a test collection as BEIR has it" if {DOCUMENTS, QUERIES} <= counts else kind
    if not taken and not refused:
        problem = "no corpus, queries, qrels or runs in it, by the names of its files"
        ingest = f"a folder of documents goes in by: labeler corpus ingest {folder} -o COLL"
        refused.append(f"{folder}: {problem}; {ingest}")
    return ImportPlan(str(folder), kind, tuple(taken), tuple(left), tuple(refused))


def _role_in(folder: Path, path: Path) -> str:
    """What a file holds by its own name, else by that of the nearest folder that says it.

    A table of pairs among data of no name holds grades.
    """
    parts = path.relative_to(folder).parts
    role = next((role for part in reversed(parts) if (role := role_of(part))), "")
    if role or not path.name.casefold().endswith((".parquet", ".arrow")):
        return role
    return role_of(folder.name) or (GRADES if "data" in parts or "default" in parts else "")


def _looked_at(path: Path, role: str) -> PlannedPart:
    """What a file holds of documents, queries, grades or rankings, counted.

    What it is taken for is told once it is taken.
    """
    with rereadable(), reading(path), told_what_files_are(lambda _line: None):
        form, count = _COUNTS[role](path)
    return PlannedPart(role, str(path), form, count)


def _documents(path: Path) -> tuple[str, int]:
    rows = rows_of_any(path, "id and text")
    refuse_pairs(path, rows.columns, _TEXTS)
    return rows.form, sum(1 for _ in rows.rows)


def _queries(path: Path) -> tuple[str, int]:
    return "queries", len(read_query_list(path))


def _grades(path: Path) -> tuple[str, int]:
    judged = judged_in(path)
    if judged is None:
        return "TREC's columns", trec.read_qrels(path).size
    return judged.kind, sum(1 for _ in judged.ratings)


def _rankings(path: Path) -> tuple[str, int]:
    scored = scored_in(path)
    if scored is None:
        return "TREC's columns", trec.read_run(path).size
    return scored.kind, sum(1 for _ in scored.ratings)


_COUNTS: dict[str, Callable[[Path], tuple[str, int]]] = {
    DOCUMENTS: _documents,
    QUERIES: _queries,
    GRADES: _grades,
    RANKINGS: _rankings,
}


def plan_lines(plan: ImportPlan) -> list[str]:
    """The plan in lines: what it is, then what is taken, left and refused."""
    lines = [f"{plan.source}: {plan.kind}"]
    lines += [f"{each.what}: {each.count:,} from {each.file} ({each.form})" for each in plan.taken]
    return [*lines, *left_lines(plan), *(f"refused: {line}" for line in plan.refused)]


def left_lines(plan: ImportPlan) -> list[str]:
    """What is left, in lines, of which there are few."""
    more = len(plan.left) - _SHOWN
    lines = [f"left: {line}" for line in plan.left[:_SHOWN]]
    return [*lines, *([f"left: {count_of(more, 'file')} more"] if more > 0 else [])]


_SHOWN = 10
