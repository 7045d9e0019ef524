"""What people do to qrels: merge, regrade and cut them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Literal, get_args

import numpy as np

from labeler.arrays import Flags, Integers
from labeler.collection.layout import sources_path
from labeler.collection.user_files import Output
from labeler.collection.whose import COLUMNS, MIXED, mixture, whose
from labeler.errors import BadInput, Misuse, check_known
from labeler.exchange.qrels import Meaning, qrels_by_meaning, read_qrels
from labeler.exchange.written import QRELS_FORMATS, qrels_format_of
from labeler.files.atomic import is_special, replacing
from labeler.files.read import sha256_of
from labeler.messages import Note, count_of, quiet
from labeler.options import Options, option
from labeler.report.neutral import flat
from labeler.trec.pairs import PairColumns, joined_pairs
from labeler.trec.write import write_columns

# Which file's grade wins where qrels are merged, and where each line of the result came from.

WriteSources = Callable[[PairColumns[int], Integers], None]

_ABSENT = -(2**62)
"""Stands for the grade of a pair that a file does not hold."""


@dataclass(frozen=True, slots=True)
class Winning:
    """Which of a pair's grades wins: that of the file `preferred`, else as `conflict` says.

    A negative grade of the preferred file says that nobody judged the pair, and wins over none.
    """

    conflict: str
    preferred: int | None = None

    def files(self, grade: Integers) -> tuple[Integers, Flags]:
        """The file whose grade wins for each pair, -1 for none, and whether the grades differ.

        `grade` is `(pairs, files)`. A pair whose grade the preferred file decides does not count as
        one that differs.
        """
        held = grade != _ABSENT
        low = np.where(held, grade, -_ABSENT)
        differ: Flags = low.min(axis=1) != grade.max(axis=1)
        wins: Integers = {
            "last": grade.shape[1] - 1 - held[:, ::-1].argmax(axis=1),
            "min": low.argmin(axis=1),
            "max": grade.argmax(axis=1),
            "drop": np.where(differ, -1, held.argmax(axis=1)),
        }.get(self.conflict, held.argmax(axis=1))
        if self.preferred is not None:
            decided = grade[:, self.preferred] >= 0
            wins, differ = np.where(decided, self.preferred, wins), differ & ~decided
        return wins, differ


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
        raise Misuse(
            f"{by_people[0]} holds people's grades, {others[0]} a model's; say whose win, as "
            f"{_short(by_people[0])}",
            parameter="prefer",
        )
    is_mixed = bool(by_people or others) and len(set(holders.values())) > 1
    if not prefer and not is_mixed:
        return False
    if is_special(to.path):
        if not prefer and not others:
            return False
        raise Misuse(
            "a list of where each line came from stands beside the result, so that needs a file",
            parameter="output",
        )
    return True


@contextmanager
def sources_list(to: Output | None, names: Sequence[str]) -> Iterator[WriteSources]:
    """Take the lines of a result and the numbers of their files; list them beside the result.

    The list begins with the hash of the result, so that it is not taken for one of other grades.
    """
    if to is None:
        yield quiet
        return
    beside = replace(to, path=sources_path(to.path))
    beside.check()
    with TemporaryFile("w+", encoding="utf-8", newline="\n") as lines:

        def write(merged: PairColumns[int], origins: Integers) -> None:
            lines.writelines(
                f"{query}\t{document}\t{grade}\t{names[origin]}\n"
                for ((query, document), grade), origin in zip(
                    merged.by_pair(), origins.tolist(), strict=True
                )
            )

        yield write
        lines.seek(0)
        with beside.writing(), replacing(beside.path) as out:
            out.write(f"# sha256 {sha256_of(to.path)}\n{COLUMNS}\n")
            for line in lines:
                out.write(line)


Conflict = Literal["error", "first", "last", "max", "min", "drop"]
"""Which grade wins where qrels differ: none, so that it is an error; or the pair is left out."""

CONFLICTS: tuple[str, ...] = get_args(Conflict)

LISTED = 10
"""So many conflicts are kept in words."""


@dataclass(frozen=True, slots=True)
class MergeRules(Options):
    """Which grade of a pair wins where files differ.

    `prefer` names the file, by its path or its name, with or without its ending, whose grades win;
    `conflict` says which wins among the others.
    """

    conflict: Conflict = option("error", "Which grade of a pair wins where the files differ.")
    prefer: str = option(
        "",
        "The file whose grades win, as human; OUTPUT.sources.tsv says whose each line is.",
        metavar="NAME",
    )


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
    each: Note,
) -> MergeResult:
    """Put qrels together; `each` is told of every pair whose grades differ between files.

    Where one file is preferred, and where people's grades meet others, `OUTPUT.sources.tsv` says
    where each line came from.
    """
    to, conflict, prefer = Output.of(output, paths), rules.conflict, rules.prefer
    winning = Winning(conflict, preferred_file(paths, prefer))
    merged, names = MergeResult(), source_names(paths)
    listed = is_listed(paths, to, prefer)
    with sources_list(to if listed else None, names) as write, to.writing():
        whole, conflicts, origins = _merged([read_qrels(path, warn) for path in paths], winning)
        for line in conflicts:
            merged.conflicts += 1
            merged.listed += [line] if len(merged.listed) < LISTED else []
            each(line)
        if merged.conflicts and conflict == "error":
            raise BadInput(
                f"{merged}; which wins? {', '.join(CONFLICTS[1:])}", parameter="conflict"
            )
        write(whole, origins)
        merged.pairs = write_columns(to.path, whole)
    merged.sources = sources_path(to.path) if listed else None
    return merged


def _merged(
    sets: Sequence[PairColumns[int]], winning: Winning
) -> tuple[PairColumns[int], Iterator[str], Integers]:
    """The pairs with the grades that win, those whose grades differ, in words, and the files."""
    joined = joined_pairs(sets)
    rows = joined.by_id(np.ones(len(joined.row), dtype=np.bool_))
    columns = [joined.values(i, own.value.astype(np.int64), _ABSENT) for i, own in enumerate(sets)]
    grade = np.stack(columns, axis=1)[rows]
    wins, differ = winning.files(grade)
    has_grade = wins >= 0
    origins = wins[has_grade]
    whole = joined.columns(rows[has_grade])

    def words() -> Iterator[str]:
        for pair, own in zip(joined.pairs(rows[differ]), grade[differ].tolist(), strict=True):
            grades = ", ".join(str(each) for each in own if each != _ABSENT)
            yield f"{pair.query_id} {pair.doc_id}: {grades}"

    return whole.holding(grade[has_grade, origins]), words(), origins


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
    to = Output.of(output, [path])
    with to.writing():
        qrels = read_qrels(path, warn)
        keep = np.ones(qrels.size, dtype=np.bool_)
        if queries is not None:
            keep &= _are_named("queries", queries, qrels.queries, path)[qrels.query]
        if documents is not None:
            keep &= _are_named("documents", documents, qrels.documents, path)[qrels.document]
        return write_columns(to.path, qrels.keep(keep).by_id())


def _are_named(what: str, named: NamedIds, ids: Sequence[str], path: Path) -> Flags:
    """Which ids of a file are among the named ones, all of which it must have."""
    present = set(ids)
    missing = [name for name in named if name not in present]
    if missing:
        more = f"; {len(missing) - 1:,} more are none" if len(missing) > 1 else ""
        noun = {"queries": "query", "documents": "document"}[what]
        problem, where = f"{missing[0]!r} is no {noun} of {path}{more}", named[missing[0]]
        raise BadInput(f"{where}: {problem}") if where else BadInput(problem, parameter=what)
    return np.array([each in named for each in ids], dtype=np.bool_)


# `qrels convert`: qrels of any kind in another format.


def convert_qrels(
    path: Path,
    output: Output | Path,
    to: str = "",
    meaning: Meaning | None = None,
    warn: Note = quiet,
) -> int:
    """Write the same pairs with the same grades in a format of `QRELS_FORMATS`; how many there are.

    Without `to` the name of the output says it. What the file is, its content tells; `meaning` says
    which grades its ratings are, and which ids its queries have.
    """
    if to:
        check_known("format", to, QRELS_FORMATS, "to")
    whole = Output.of(output, [path])
    warn_of_mixture(path, warn)
    form = to or qrels_format_of(whole.path)
    with whole.writing():
        qrels = qrels_by_meaning(path, meaning or Meaning(), warn)
        return QRELS_FORMATS[form](whole.path, qrels.by_id())
