"""What people do to qrels: merge, regrade and cut them, whatever their size."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np

from labeler.arrays import Flags, Integers
from labeler.collection.layout import sources_path
from labeler.collection.user_files import Output
from labeler.collection.whose import COLUMNS, MIXED, mixture, whose
from labeler.errors import BadInput, Misuse
from labeler.exchange.qrels import Meaning, hold_qrels, indexed_qrels
from labeler.exchange.written import QRELS_FORMATS, qrels_format_of, write_qrels_as
from labeler.files.atomic import is_special, replacing
from labeler.files.cache import sha256_of
from labeler.files.read import rereadable
from labeler.messages import Note, count_of
from labeler.report.neutral import flat
from labeler.trec.index import QRELS, Batch, Index, indexed
from labeler.trec.qrels import pair_batches
from labeler.trec.write import GradedPart, write_graded

# Which file's grade wins where qrels are merged, and where each line of the result came from.

WriteSources = Callable[[GradedPart, Integers], None]


@dataclass(frozen=True, slots=True)
class Winning:
    """Which of a pair's grades wins: that of the file `preferred`, else as `conflict` says.

    A negative grade of the preferred file says that nobody judged the pair, and wins over none.
    """

    conflict: str
    preferred: int | None = None

    def lines(self, grade: Integers, origin: Integers, starts: Integers) -> tuple[Integers, Flags]:
        """The line that wins of each pair, -1 for none, and whether the pair's grades differ.

        A pair whose grade the preferred file decides does not count as one that differs.
        """
        low, high = np.minimum.reduceat(grade, starts), np.maximum.reduceat(grade, starts)
        ends = np.append(starts[1:], len(grade))
        differ = low != high
        group = np.repeat(np.arange(len(starts)), ends - starts)
        by_conflict = {"last": ends - 1, "min": _first_of(grade, low, group)}
        by_conflict["max"] = _first_of(grade, high, group)
        wins = by_conflict.get(self.conflict, starts)
        if self.conflict == "drop":
            wins = np.where(differ, -1, wins)
        if self.preferred is not None:
            decided = np.flatnonzero((origin == self.preferred) & (grade >= 0))
            wins = wins.copy()
            wins[group[decided]] = decided
            differ[group[decided]] = False
        return wins, differ


def _first_of(grade: Integers, sought: Integers, group: Integers) -> Integers:
    """The first line of each pair that has the grade sought for it."""
    lines = np.flatnonzero(grade == sought[group])
    _, first = np.unique(group[lines], return_index=True)
    return lines[first]


def warn_of_mixture(path: Path, warn: Note) -> None:
    """Tell `warn` of grades from several sources, which what is made of them does not list."""
    if text := mixture(path):
        warn(f"{text}; the result does not say whose each line is")


def source_names(paths: Sequence[Path]) -> list[str]:
    """What the sources are called: files without their endings, as paths where these are alike."""
    names = [_short(path) for path in paths]
    names = names if len(set(names)) == len(names) else [str(path) for path in paths]
    mixed = (MIXED if whose(path) == "both" else "" for path in paths)
    return [flat(name) + more for name, more in zip(names, mixed, strict=True)]


def _short(path: Path) -> str:
    name = path.name.removesuffix(".gz")
    return name.rpartition(".")[0] or name


def preferred_file(paths: Sequence[Path], prefer: str) -> int | None:
    """The number of the file whose grades win; `Misuse` where not just one is called so."""
    if not prefer:
        return None
    matching = [n for n, path in enumerate(paths) if prefer in (str(path), path.name, _short(path))]
    if len(matching) != 1:
        names = ", ".join(map(str, paths))
        several = "several of the files are" if matching else "none of the files is"
        raise Misuse(f"{several} called {prefer!r:.80}: {names}", parameter="prefer")
    return matching[0]


def is_listed(paths: Sequence[Path], to: Output, prefer: str) -> bool:
    """Whether a file beside the result says where each line came from.

    `Misuse` where people's grades and a model's meet, and nobody said whose win; and where there is
    no place beside the result for such a file.
    """
    holders = {path: whose(path) for path in paths}
    by_people = [path for path, holder in holders.items() if holder == "people"]
    others = [path for path, holder in holders.items() if holder in ("model", "both")]
    if by_people and others and not prefer:
        problem = f"{by_people[0]} holds people's grades, {others[0]} a model's"
        raise Misuse(f"{problem}; say whose win, as {_short(by_people[0])}", parameter="prefer")
    is_mixed = bool(by_people or others) and len(set(holders.values())) > 1
    if not prefer and not is_mixed:
        return False
    if is_special(to.path):
        if not prefer and not others:
            return False
        problem = "a list of where each line came from stands beside the result"
        raise Misuse(f"{problem}, so that needs a file", parameter="output")
    return True


@contextmanager
def sources_list(to: Output | None, names: Sequence[str]) -> Iterator[WriteSources]:
    """Take the lines of a result and the numbers of their files; list them beside the result.

    The list begins with the hash of the result, so that it is not taken for one of other grades.
    """
    if to is None:
        yield lambda _part, _origins: None
        return
    beside = replace(to, path=sources_path(to.path))
    beside.check()
    with TemporaryFile("w+", encoding="utf-8", newline="\n") as lines:

        def write(part: GradedPart, origins: Integers) -> None:
            rows = zip(
                part.query.tolist(), part.documents, part.grade.tolist(), origins, strict=True
            )
            lines.writelines(
                f"{part.names[query].decode()}\t{document.decode()}\t{grade}\t{names[origin]}\n"
                for query, document, grade, origin in rows
            )

        yield write
        lines.seek(0)
        with beside.writing(), replacing(beside.path) as out:
            out.write(f"# sha256 {sha256_of(to.path)}\n{COLUMNS}\n")
            for line in lines:
                out.write(line)


CONFLICTS = ("error", "first", "last", "max", "min", "drop")
"""Which grade wins where qrels differ: none, so that it is an error; or the pair is left out."""

LISTED = 10
"""So many conflicts are kept in words."""


@dataclass(frozen=True, slots=True)
class MergeRules:
    """Which grade of a pair wins where files differ.

    `prefer` names the file, by its path or its name, with or without its ending, whose grades win;
    `conflict`, one of `CONFLICTS`, says which wins among the others.
    """

    conflict: str = "error"
    prefer: str = ""

    def __post_init__(self) -> None:
        if self.conflict not in CONFLICTS:
            problem = f"conflict is {', '.join(CONFLICTS)}; not {self.conflict!r}"
            raise Misuse(problem, parameter="conflict")


@dataclass
class MergeResult:
    """How many pairs there are, how many had several grades, and the first of these, in words.

    `sources` is the file that says where each line came from, where one was written.
    """

    pairs: int = 0
    conflicts: int = 0
    listed: list[str] = field(default_factory=list)
    sources: Path | None = None

    def __str__(self) -> str:
        more = self.conflicts - LISTED
        tail = f"; and {more:,} more" if more > 0 else ""
        have = count_of(self.conflicts, "pair has", "pairs have")
        return f"{have} several grades: {'; '.join(self.listed[:LISTED])}{tail}"


def merge_qrels(
    paths: Sequence[Path],
    output: Output | Path,
    rules: MergeRules,
    warn: Note,
    each: Note = lambda _: None,
) -> MergeResult:
    """Put qrels together; `each` is told of every pair whose grades differ between files.

    Where one file is preferred, and where people's grades meet others, `OUTPUT.sources.tsv` says
    where each line came from.
    """
    to, conflict, prefer = Output.of(output, paths), rules.conflict, rules.prefer
    preferred = preferred_file(paths, prefer)
    merged, names = MergeResult(), source_names(paths)
    listed = is_listed(paths, to, prefer)

    def graded() -> Iterator[GradedPart]:
        for batch, lines, pair in pair_batches(indexes, warn):
            part, conflicts, origins = _merged(batch, lines, pair, Winning(conflict, preferred))
            write(part, origins)
            merged.pairs += len(part.query)
            for line in conflicts:
                merged.conflicts += 1
                merged.listed += [line] if len(merged.listed) < LISTED else []
                each(line)
            yield part
        if merged.conflicts and conflict == "error":
            raise BadInput(
                f"{merged}; which wins? {', '.join(CONFLICTS[1:])}", parameter="conflict"
            )

    with sources_list(to if listed else None, names) as write, to.writing(), ExitStack() as stack:
        indexes = [stack.enter_context(indexed_qrels(path)) for path in paths]
        write_graded(to.path, graded())
    merged.sources = sources_path(to.path) if listed else None
    return merged


def _merged(
    batch: Batch, lines: Integers, pair: Integers, winning: Winning
) -> tuple[GradedPart, Iterator[str], Integers]:
    """The pairs with the grades that win, those whose grades differ, in words, and the files."""
    starts = np.flatnonzero(np.append(True, pair[1:] != pair[:-1]))
    grade, origin = batch.grade[lines], batch.origin[lines]
    wins, differ = winning.lines(grade, origin, starts)
    ends = np.append(starts[1:], len(grade))
    has_grade = wins >= 0
    graded = _graded(batch, lines[starts][has_grade], grade[wins[has_grade]])

    def words() -> Iterator[str]:
        for index in np.flatnonzero(differ).tolist():
            line = int(lines[starts[index]])
            grades = ", ".join(map(str, grade[starts[index] : ends[index]].tolist()))
            query = batch.names[int(batch.query[line])].decode()
            (document,) = batch.texts(np.array([line]))
            yield f"{query} {document.decode()}: {grades}"

    return graded, words(), origin[wins[has_grade]]


def _graded(batch: Batch, lines: Integers, grade: Integers) -> GradedPart:
    return GradedPart(batch.names, batch.query[lines], batch.texts(lines), grade)


NamedIds = Mapping[str, str]
"""Ids, and where each was named: in a file, or nothing."""


def subset_qrels(
    path: Path,
    output: Output | Path,
    queries: NamedIds | None,
    documents: NamedIds | None,
    warn: Note,
) -> int:
    """Write the pairs of these queries and documents, all where `None`; how many there are.

    `BadInput` where an id that was named is in no line.
    """
    if queries is None and documents is None:
        raise Misuse("say what to keep: queries or documents")
    warn_of_mixture(path, warn)
    sought = np.array([d.encode() for d in documents or ()] or [b""])
    present: set[bytes] = set()

    def parts(index: Index) -> Iterator[GradedPart]:
        if queries is not None:
            names = {name.decode() for name in index.names()}
            _refuse_unknown("queries", queries, names, f"query of {path}")
        for batch, lines, _ in pair_batches([index], warn):
            has_query = [queries is None or name.decode() in queries for name in batch.names]
            keep = np.array(has_query)[batch.query[lines]]
            if documents is not None:
                texts = np.array(batch.texts(lines))
                is_sought = np.isin(texts, sought)
                present.update(texts[is_sought].tolist())
                keep &= is_sought
            yield _graded(batch, lines[keep], batch.grade[lines[keep]])
        if documents is not None:
            ids = {text.decode() for text in present}
            _refuse_unknown("documents", documents, ids, f"document of {path}")

    to = Output.of(output, [path])
    with to.writing(), indexed_qrels(path) as index:
        return write_graded(to.path, parts(index))


def _refuse_unknown(
    parameter: str, source_by_id: Mapping[str, str], ids: Collection[str], what: str
) -> None:
    missing = [name for name in source_by_id if name not in ids]
    if missing:
        more = f"; {len(missing) - 1:,} more are none" if len(missing) > 1 else ""
        problem = f"{missing[0]!r} is no {what}{more}"
        where = source_by_id[missing[0]]
        raise BadInput(f"{where}: {problem}") if where else BadInput(problem, parameter=parameter)


# `qrels convert`: qrels of any kind in another format.


def convert_qrels(
    path: Path,
    output: Output | Path,
    to: str = "",
    meaning: Meaning | None = None,
    warn: Note = lambda _message: None,
) -> int:
    """Write the same pairs with the same grades in a format of `QRELS_FORMATS`; how many there are.

    Without `to` the name of the output says it. What the file is, its content tells; `meaning` says
    which grades its ratings are, and which ids its queries have.
    """
    if to and to not in QRELS_FORMATS:
        raise Misuse(f"no format {to!r}; known: {', '.join(QRELS_FORMATS)}", parameter="to")
    whole = Output.of(output, [path])
    warn_of_mixture(path, warn)
    form = to or qrels_format_of(whole.path)
    with whole.writing(), rereadable():
        hold_qrels(path, warn, meaning or Meaning())
        with indexed(path, QRELS) as index:
            parts = (
                _graded(batch, lines, batch.grade[lines])
                for batch, lines, _ in pair_batches([index], warn)
            )
            return write_qrels_as(whole.path, parts, form)
