"""What a file, a folder or a ZIP archive holds, before anything of it is taken: its plan."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from labeler.errors import BadInput, LabelerError, TooLarge
from labeler.exchange.contents import (
    DOCUMENTS,
    GRADES,
    PARTS,
    QUERIES,
    RANKINGS,
    WORDS,
    objects,
    role_in,
    role_of,
)
from labeler.exchange.documents import TEXTS, check_has_text
from labeler.exchange.formats import Held, held_by, is_fed, rows_of_any
from labeler.exchange.qrels import judged_in
from labeler.exchange.queries import read_query_list
from labeler.exchange.ratings import Grades, UnmappedRatings, number_of, stripped
from labeler.exchange.runs import scored_in
from labeler.exchange.shapes import AS_DOCUMENT, SGML, TEXT, TREC, XML, ending_of
from labeler.exchange.tables import QUERY_TEXT, Rows, column_of, has_column, names_a_pair
from labeler.files.boundary import reading
from labeler.files.read import file_problems, in_megabytes, most_unpacked, rereadable
from labeler.messages import count_of, told_what_files_are
from labeler.report.result import Result
from labeler.trec import files as trec
from labeler.trec.values import QUERY_ID, SCORE, score_of

_ROWS = (".jsonl", ".ndjson", ".json", ".parquet", ".csv", ".tsv", ".arrow", ".xlsx")
_PAIRS = (*_ROWS, ".qrels", ".trec", ".run", ".txt", ".xml", "")
_ENDINGS = {".qrels": GRADES, ".qrel": GRADES, ".run": RANKINGS, ".trec": RANKINGS}
OF_DATASETS = ("dataset_info.json", "dataset_dict.json", "state.json")
"""What `save_to_disk` of Hugging Face's datasets writes beside the rows."""

_OF_DOCUMENTS = re.compile(r"ctx|passage|doc|gold|context|positive|pids|relevant|candidate", re.I)
"""What names of lists contain that hold documents."""
_OF_TOPICS = ("number", "narrative")
_LISTS = ("", ".txt", ".text", ".md", ".markdown", *_ROWS)
"""The endings of files that may hold a query a line where their names say nothing."""


_LOOKED_AT = 1_000
_HIGHEST = 5
"""The highest rating of numbers that may be grades as well as scores."""

_IN_PROSE = re.compile(r"\w[.!] +[^\W\d_]\w*[^.?!\n]*[.!]")
"""Two sentences in a line, which queries have seldom."""

_PROSE = 2
"""Words; where a column beside titles has more, the titles are those of documents."""

LONG_QUERY = 120
"""Characters; where nothing says what texts are, and half of them are longer, they are passages."""


def is_bundle(names: list[str]) -> bool:
    """Whether these lie in one folder: a corpus, and what belongs to it."""
    has_corpus = any("corpus" in WORDS.split(name.casefold()) for name in names)
    return has_corpus and any(role_of(name) in (QUERIES, GRADES) for name in names)


@dataclass(frozen=True)
class PlannedPart:
    """What is taken from a file: `what` is documents, queries, grades or rankings.

    `count` is of documents, of queries, or of pairs of a query and a document. `asks` is what a
    person has to say before it is taken.
    """

    what: str
    file: str
    form: str
    count: int
    asks: str = ""


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


@rereadable()
def plan_of(source: Path) -> ImportPlan:
    """What a file, a folder or an unpacked archive holds; nothing of it is kept.

    `BadInput` of a single file that holds nothing of use.
    """
    if source.is_dir():
        return _of_folder(source)
    taken = {}
    refusals = {}
    left = []
    held = held_by(source)
    named = role_of(source.name)
    rows = None if named or held.contents else _first_rows(source)
    roles = (GRADES, RANKINGS) if held.shape == TREC else (named,) if named else PARTS
    for role in roles:
        try:
            if role == QUERIES and DOCUMENTS in refusals:
                _check_lists(source, held, rows)
            elif role == QUERIES and rows and _are_passages(held, rows):
                left.append(_of_another_name(source, DOCUMENTS, QUERIES))
                continue
            taken[role] = _looked_at(source, role, left)
        except LabelerError as error:
            refusals[role] = str(error).removeprefix(f"{source}: ")
    if not taken:
        is_page = not named and held.shape in {TEXT, XML} and source.suffix.casefold() not in _ROWS
        is_page = is_page or source.suffix.casefold() == ".ipynb"
        raise BadInput(f"{source}: {_refusal(source, {} if is_page else refusals)}")
    if held.contents:
        lacks = (held.contents.lacks or {}).items()
        left += (f"{source.name}: no {part}: {why}" for part, why in lacks if part in refusals)
    scored = (column_of(rows.columns, SCORE) if rows else None) or ""
    values = (number_of(row.get(scored)) for _, row in (rows.rows if rows else ()))
    is_run = max(filter(None, values), default=0) > _HIGHEST
    if {GRADES, RANKINGS} <= taken.keys() and (is_run or taken[GRADES].asks):
        del taken[GRADES]  # of scores, no grades are asked for
    form = held.contents.kind if held.contents else next(iter(taken.values())).form
    if not held.contents and {DOCUMENTS, QUERIES} <= taken.keys():
        del taken[DOCUMENTS]
        left.append(_of_another_name(source, QUERIES, DOCUMENTS))
    is_unread = GRADES in refusals and list(taken) == [QUERIES]
    are_pairs = is_unread and rows is not None and _names_documents(rows)
    alone = f"to take its queries alone, name it queries{''.join(source.suffixes)}"
    refused = (f"{source}: {refusals[GRADES]}; {alone}",) if are_pairs else ()
    return ImportPlan(str(source), form, tuple(taken.values()), tuple(left), refused)


def _refusal(source: Path, refusals: Mapping[str, str]) -> str:
    """Why nothing is taken from a file, or what takes a document."""
    if not refusals:
        return (
            "nothing says that it holds queries, grades or rankings; perhaps it is "
            f"{AS_DOCUMENT.format(name=source)}"
        )
    roles = {why: role for role, why in refusals.items()}
    each = "; ".join(f"as {role}: {why}" for why, role in roles.items())
    return f"nothing to take; {each}" if len(roles) > 1 else next(iter(roles))


def _of_another_name(source: Path, role: str, other: str) -> str:
    """What is left of a file whose texts may be documents or queries: the other role."""
    return (
        f"{source.name}: its texts look like {role}; as {other}, it needs a name such as "
        f"{other}{''.join(source.suffixes)}"
    )


def _first_rows(path: Path) -> Rows | None:
    """The first rows of a file; None where it has none, but lines or topics."""
    try:
        rows = rows_of_any(path, "id and text")
        return replace(rows, rows=list(islice(rows.rows, _LOOKED_AT)))
    except BadInput:
        return None


def _check_lists(path: Path, held: Held, rows: Rows | None) -> None:
    """`BadInput` where nothing says that the lines or titles of a file are queries."""
    if rows is not None:
        asks = has_column(rows.columns, QUERY_ID, QUERY_TEXT, _OF_TOPICS, ("text", "question"))
        doubts = has_column(rows.columns, ("title", "body")) and not asks
    else:
        text = held.head.decode("utf-8", "replace")
        is_prose = bool(_IN_PROSE.search(text)) or median(map(len, text.split("\n"))) > LONG_QUERY
        doubts = held.shape == TEXT and (is_prose or path.suffix.casefold() not in _LISTS)
    if doubts:
        raise BadInput(
            f"{path}: nothing says that it holds queries; to take it for these, name it "
            f"queries{path.suffix}"
        )


def _names_documents(rows: Rows) -> bool:
    """Whether rows of queries name documents, too: by a column or by lists, as of objects."""
    _, first = next(iter(rows.rows), (0, {}))
    return names_a_pair(rows.columns) or any(
        (isinstance(value, list | str) and _OF_DOCUMENTS.search(name))
        or objects(value)
        or (isinstance(value, Mapping) and name != "metadata")
        for name, value in first.items()
    )


def _are_passages(held: Held, rows: Rows) -> bool:
    """Whether texts are documents rather than queries: of an engine, with titles, or as long.

    A title and a description are those of a topic where a column says so.
    """
    first = [row for _, row in rows.rows]
    columns = rows.columns
    of_topics = has_column(columns, QUERY_ID, QUERY_TEXT, _OF_TOPICS)
    title = column_of(columns, ("title",))
    others = (len(str(x).split()) for row in first[:1] for n, x in row.items() if n != title)
    has_prose = not of_topics and any(words > _PROSE for words in others)
    if is_fed(held) or (title and (has_prose or has_column(columns, TEXTS))):
        return True
    name = column_of(columns, (*QUERY_TEXT, "question", "text", *TEXTS, "title"))
    return bool(first) and median(len(str(row.get(name or "", ""))) for row in first) > LONG_QUERY


def is_archive(source: Path) -> bool:
    """Whether this is a ZIP archive by its name and by its content."""
    return source.suffix.casefold() == ".zip" and source.is_file() and zipfile.is_zipfile(source)


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
            most = most_unpacked(source.stat().st_size)
            root = Path(folder).resolve()
            if sum(member.file_size for member in archive.infolist()) > most:
                raise TooLarge(f"{source}: it unpacks to more than {in_megabytes(most)}")
            if any(member.flag_bits & 1 for member in archive.infolist()):
                raise BadInput(f"{source}: it takes a password; unpack it, and take the folder")
            for name in archive.namelist():
                if not (root / name).resolve().is_relative_to(root):
                    raise BadInput(f"{source}: {name!r} leads out of the archive")
            archive.extractall(folder)
        inside = [path for path in Path(folder).iterdir() if path.name != "__MACOSX"]
        yield inside[0] if len(inside) == 1 and inside[0].is_dir() else Path(folder)


def _of_folder(folder: Path) -> ImportPlan:
    taken = []
    left = []
    refused = list[str]()
    for path in sorted(folder.rglob("[!.]*")):
        name = path.relative_to(folder).as_posix()
        role = _role_in(folder, path)
        if path.name in OF_DATASETS or not path.is_file():
            continue
        ending = ending_of(path)
        role = "" if path.stem.casefold() == "readme" else role
        why = "its name says nothing of documents, queries, grades or rankings" if not role else ""
        is_page = role == DOCUMENTS and ending not in (*_ROWS, ".xml", "")
        if is_page and not (ending == ".txt" and held_by(path).shape == SGML):
            why = AS_DOCUMENT.format(name=path.parent)
        elif role and not (ending in _PAIRS or ending[1:2].isdigit()):
            why = f"{ending} is no kind of file that is read here"
        if why:
            left.append(f"{name}: {why}")
            continue
        try:
            taken.append(_looked_at(path, role, left))
        except LabelerError as error:  # rankings are taken by others, who check them
            (left if role == RANKINGS else refused).append(str(error))
    counts = {each.what for each in taken}
    is_saved = any((folder / name).exists() for name in OF_DATASETS[1:])
    kind = "a data set saved by Hugging Face's datasets" if is_saved else "a folder"
    kind = "a test collection as BEIR has it" if {DOCUMENTS, QUERIES} <= counts else kind
    if not taken and not refused:
        refused.append(
            f"{folder}: no corpus, queries, qrels or runs in it, by the names of its files; a "
            f"folder of documents goes in by: labeler corpus ingest {folder} -o COLL"
        )
    return ImportPlan(str(folder), kind, tuple(taken), tuple(left), tuple(refused))


def _role_in(folder: Path, path: Path) -> str:
    """What a file holds by its own name, else by that of the nearest folder that says it.

    A table of pairs among data of no name holds grades.
    """
    parts = path.relative_to(folder).parts
    ending = ending_of(path)
    role = role_in(parts) or _ENDINGS.get(ending, "")
    if role or ending not in (".parquet", ".arrow"):
        return role
    return role_of(folder.name) or (GRADES if "data" in parts or "default" in parts else "")


def _looked_at(path: Path, role: str, left: list[str]) -> PlannedPart:
    """What a file holds of documents, queries, grades or rankings, counted, and what it leaves.

    What it is taken for is told once it is taken.
    """
    with rereadable(), reading(path), told_what_files_are(lambda _line: None):
        if role == QUERIES:
            return PlannedPart(role, str(path), "queries", len(read_query_list(path)))
        if role != DOCUMENTS:
            return _rated(path, role)
        rows = rows_of_any(path, "id and text")
        count = 0
        for count, (_, row) in enumerate(rows.rows, start=1):
            if count == 1:
                check_has_text(path, row)
        left += (f"{path.name}: {count_of(n, what)}" for what, n in rows.left.items())
        if not count:
            raise BadInput(f"{path}: no document in it")
        return PlannedPart(role, str(path), rows.form, count)


def _rated(path: Path, role: str) -> PlannedPart:
    """What a file holds of grades or rankings, how many there are, and what it asks."""
    is_graded = role == GRADES
    count = 0
    asks = ""
    rated = judged_in(path) if is_graded else scored_in(path)
    if rated is None:
        read = trec.read_qrels if is_graded else trec.read_run
        return PlannedPart(role, str(path), "TREC's columns", read(path).size)
    grades = Grades(path, None, is_rating=rated.is_rating)
    check = grades.grade if is_graded else score_of
    for count, rating in enumerate(rated.ratings, start=1):  # noqa: B007 - counted after it
        if not is_graded or stripped(rating.value) not in (None, ""):
            check(f"{path}:{rating.line}", rating.value)
    try:
        grades.check()
    except UnmappedRatings as error:
        asks = str(error)
    return PlannedPart(role, str(path), rated.kind, count, asks)


def plan_lines(plan: ImportPlan) -> list[str]:
    """The plan in lines: what it is, then what is taken, left and refused."""
    lines = [f"{plan.source}: {plan.kind}"]
    lines += [f"{each.what}: {each.count:,} from {each.file} ({each.form})" for each in plan.taken]
    lines += [f"asked: {each.asks}" for each in plan.taken if each.asks]
    return [*lines, *left_lines(plan), *(f"refused: {line}" for line in plan.refused)]


def left_lines(plan: ImportPlan) -> list[str]:
    """What is left, in lines, of which there are few."""
    more = len(plan.left) - _SHOWN
    lines = [f"left: {line}" for line in plan.left[:_SHOWN]]
    return [*lines, *([f"left: {count_of(more, 'file')} more"] if more > 0 else [])]


_SHOWN = 10
