"""What callers are told: progress, counts with their nouns, why two files share nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from itertools import islice
from pathlib import Path
from typing import TypeVar

Advance = Callable[[int, int], None]
"""Called with how many of how many are done, as work goes on."""

Note = Callable[[str], None]
"""Is given each line that a person should read."""

Clock = Callable[[], float]
"""Tells the time in seconds."""

Progress = Callable[[str], AbstractContextManager[Advance]]
"""Opened around each countable step, with its name."""


def quiet(*_what: object) -> None:
    """Says nothing: where nobody listens, it stands for whatever is told."""


Item = TypeVar("Item")


def counted(
    items: Iterable[Item], total: int, advance: Advance, every: int = 1000
) -> Iterator[Item]:
    """The items as they are; `advance` is told every so many of them how many have passed."""
    number = 0
    for number, item in enumerate(items, start=1):
        yield item
        if number % every == 0:
            advance(number, max(number, total))
    advance(number, number)


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """The items in lists of so many; the last may be shorter."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


@contextmanager
def no_progress(_step: str) -> Iterator[Advance]:
    """Progress that nobody is shown."""
    yield quiet


SHOWN = 3

DISTRIBUTION = "ir-labeler"
"""The name to install under; `labeler` is another project's on the package index."""


def missing_extra(extra: str, problem: str) -> str:
    """What needs one of the optional sets of dependencies, and the command that installs it."""
    return f"{problem} the {extra!r} extra: pip install '{DISTRIBUTION}[{extra}]'"


def no_query_in_common(
    first: object, first_ids: Collection[str], second: object, second_ids: Collection[str]
) -> str:
    """The one line that names both files, some queries of each and why they might not match."""
    return f"{first} and {second} share no query: {_sides(first, first_ids, second, second_ids)}"


def no_pair_in_common(
    first: str,
    first_pairs: Mapping[str, Collection[str]],
    second: str,
    second_pairs: Mapping[str, Collection[str]],
) -> str:
    """The same of two files of pairs, each a query's documents: their queries differ, or documents.

    Where documents differ, the message shows some of the first query that both have.
    """
    shared = next((query for query in first_pairs if query in second_pairs), None)
    if shared is None:
        return no_query_in_common(first, first_pairs, second, second_pairs)
    has = _sides(first, first_pairs[shared], second, second_pairs[shared])
    return f"{first} and {second} share queries, but no pair: of query {shared}, {has}"


def _sides(
    first: object, first_ids: Collection[str], second: object, second_ids: Collection[str]
) -> str:
    reason = guess(first_ids, second_ids)
    has = f"{first} has {_some(first_ids)}; {second} has {_some(second_ids)}"
    return f"{has}; {reason}" if reason else has


def _some(ids: Collection[str]) -> str:
    return ", ".join(islice(ids, SHOWN)) + (", …" if len(ids) > SHOWN else "")


def guess(first_ids: Collection[str], second_ids: Collection[str]) -> str:
    """Why two sets of ids that share nothing might be meant to be the same; empty if unknown."""
    for changed, reason in REASONS:
        originals = {changed(id_): id_ for id_ in sorted(first_ids, reverse=True)}
        for id_ in second_ids:
            if changed(id_) and changed(id_) in originals:
                return f"{reason} ({originals[changed(id_)]} and {id_})"
    return ""


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _unpadded(text: str) -> str:
    return text.lstrip("0") or text[:1]


def _whole(text: str) -> str:
    """An id less the `.0` that a column read as numbers with gaps leaves behind."""
    return text.removesuffix(".0")


REASONS: tuple[tuple[Callable[[str], str], str], ...] = (
    (str.casefold, "they differ in upper and lower case"),
    (_unpadded, "one side is padded with zeros, or was read as integers"),
    (_whole, "one side was read as numbers with decimals"),
    (lambda text: text.strip("\"'"), "one side stands in quotation marks"),
    (_digits, "they differ in a prefix or suffix"),
    (lambda text: _unpadded(_digits(text)), "they differ in a prefix and in zeros"),
)
"""What would make two ids the same, and what that tells; the surest comes first."""


def squeezed(text: str) -> str:
    """A text on one line, with single spaces."""
    return " ".join(text.split())


def count_of(number: int, singular: str, plural: str = "") -> str:
    """`1 query`, `2,000 queries`; a plural is named where it ends neither in s nor in ies for y."""
    usual = f"{singular[:-1]}ies" if singular.endswith("y") else f"{singular}s"
    return f"{number:,} {singular if number == 1 else plural or usual}"


def counts_of(counts: Mapping[str, int]) -> str:
    """`2,000 too short, 1 of code`: how many there are of each, by what they are."""
    return ", ".join(f"{count:,} {what}" for what, count in counts.items())


def meant(name: str, names: Iterable[str]) -> str:
    """`did you mean 'x'? `, of the name that is most like one; empty where none is."""
    from difflib import get_close_matches  # takes long to load

    close = get_close_matches(name, list(names), 1)
    return f"did you mean {close[0]!r}? " if close else ""


def meant_or_known(name: str, names: Iterable[str]) -> str:
    """The name that one may have been meant for, and all that are known."""
    every = list(names)
    return f"{meant(name, every)}known: {', '.join(every)}"


def moment(at: float) -> str:
    """A time in seconds since 1970 as local time; a question mark for one that no clock shows."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    except (OverflowError, ValueError, OSError):
        return "?"


def cost_of(cost: float | None, at_most: float | None) -> str:
    """A cost of which a part is known: `$0.0123`, `$0.0123, at most $0.0456`, `at most $0.0456`."""
    if cost is None or at_most is None or at_most <= cost:
        return dollars(cost)
    return f"{dollars(cost)}, at most {dollars(at_most)}" if cost else f"at most {dollars(at_most)}"


def dollars(cost: float | None) -> str:
    """A cost as it is shown: `$0.0123`, `$1,234.50`; what is not known is never 0."""
    if cost is None:
        return "unknown"
    return f"${cost:,.2f}" if cost >= 1 else f"${cost:,.4f}" if cost else "$0"


# Which kind of file a file was taken for: told to whoever listens, once a file.

_LISTENER: ContextVar[Note | None] = ContextVar("listener", default=None)


@contextmanager
def told_what_files_are(listener: Note) -> Iterator[None]:
    """Tell `listener` of each file that is read, in one line, what it was taken for.

    Of TREC's own columns and of a collection's own files it is not told.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from labeler.exchange.qrels import read_qrels
    >>> print_kind = lambda line: print(line.partition(": ")[2])
    >>> with TemporaryDirectory() as folder, told_what_files_are(print_kind):
    ...     path = Path(folder, "human.csv")
    ...     _ = path.write_text("query_id,doc_id,grade\\nq1,d1,2\\n")
    ...     read_qrels(path).as_dict()
    qrels from CSV (columns query_id, doc_id, grade)
    {'q1': {'d1': 2}}
    """
    seen: set[str] = set()

    def once(line: str) -> None:
        if line not in seen:
            seen.add(line)
            listener(line)

    token = _LISTENER.set(once)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def tell(path: Path | str, kind: str) -> None:
    """Tell the listener what a file was taken for."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(f"{path}: {kind}")
