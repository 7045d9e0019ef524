"""A collection on disk: which file of a directory is which, and its lock: one process writes."""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from labeler.errors import FileProblem, Misuse, Stopped
from labeler.files.cache import is_acquired, lock_file
from labeler.files.paths import did_you_mean, true_path
from labeler.files.read import check_regular, file_problems
from labeler.messages import Note, quiet

if TYPE_CHECKING:
    from labeler.models.policies.call import StopSignal
    from labeler.store import StorePlace

_NAME = re.compile(r"[A-Za-z0-9._-]+")
RUN_FILE = re.compile(r"(?i)(.+?)(?:\.(?:trec|run|txt))+(?:\.gz)?")


class PathInFolder:
    """A property: the path of one name in the `folder` of its object."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, owner: Any, _kind: type | None = None) -> Path:
        return Path(owner.folder, self.name)


@dataclass(frozen=True, slots=True)
class Collection:
    """The layout below a directory; making one touches nothing."""

    folder: Path

    corpus = PathInFolder("corpus.jsonl")
    """The file of the documents."""

    queries = PathInFolder("queries.jsonl")
    """The file of the queries."""

    rejected = PathInFolder("rejected.jsonl")
    """The file of the generated queries that a filter dropped."""

    pool = PathInFolder("pool.jsonl")
    """The file of the pairs to judge."""

    dropped = PathInFolder("dropped.jsonl")
    """The file of the pairs that left the pool with their query or document."""

    @property
    def store(self) -> StorePlace:
        """The store of replies: the database that `LABELER_STORE` names, else a file."""
        file, shared = self.file_of_replies, os.environ.get("LABELER_STORE")
        if not shared:
            return file
        from labeler.store.address import DatabaseAddress

        return DatabaseAddress.of(shared, unsent=file)

    file_of_replies = PathInFolder("replies.db")
    """The file in which replies are kept where no database is named."""

    vectors = PathInFolder("vectors")
    """The folder of vectors that are not made anew: those of servers and of `minilm`."""

    card = PathInFolder("card.json")
    """The file that says what made the collection."""

    controls = PathInFolder("controls")
    """The folder of pairs that were judged again, to see whether the assessor has drifted."""

    repeats = PathInFolder("repeats")
    """The folder of what pairs were given when they were asked about again."""

    annotations = PathInFolder("annotations")
    """The folder of what raters answered, a journal each, to which alone is written."""

    indexes = PathInFolder("indexes")
    """The folder of what is derived from the documents, and made anew where it is not there."""

    lock = PathInFolder(".lock")
    """The file by which one process at a time changes the others."""

    readme = PathInFolder("README.md")
    """README.md, which says to people what made the collection."""

    def run(self, name: str) -> Path:
        """The file of a run: the one that is there, else `NAME.trec`."""
        return self.run_files().get(name, self.folder / "runs" / f"{name}.trec")

    def qrels(self, name: str) -> Path:
        """The file of a set of qrels."""
        return self.folder / "qrels" / f"{name}.qrels"

    def judgements(self, name: str) -> Path:
        """The file of a set of judgements."""
        return self.folder / "judgements" / f"{name}.jsonl"

    def run_files(self) -> dict[str, Path]:
        """The runs that are there by name, sorted: `.trec`, `.run`, `.txt`, gzip or not.

        `Misuse` names two files that would be one run; of `NAME.trec` and `NAME.trec.gz`, the plain
        one is.
        """
        files: dict[str, Path] = {}
        for path in sorted((self.folder / "runs").glob("[!.]*")):
            match = RUN_FILE.fullmatch(path.name)
            first = files.setdefault(match[1], path) if match else path
            if first != path and path.name != f"{first.name}.gz":
                problem = f"{first} and {path} are both the run {match[1] if match else ''!r}"
                raise Misuse(f"{problem}; rename one")
        return dict(sorted(files.items()))

    def existing_qrels(self, name: str) -> Path:
        """The file of a set of qrels that somebody named; `Misuse` lists those that are there."""
        return _existing(self, self.qrels(name), "qrels", name, self.qrels_names())

    def existing_judgements(self, name: str) -> Path:
        """The file of judgements that somebody named; `Misuse` lists those that are there."""
        return _existing(self, self.judgements(name), "judgements", name, self.judgement_names())

    def judgement_names(self) -> tuple[str, ...]:
        """The sets of judgements that are there, sorted."""
        return tuple(sorted(path.stem for path in (self.folder / "judgements").glob("*.jsonl")))

    def qrels_names(self) -> tuple[str, ...]:
        """The sets of qrels that are there, sorted."""
        return tuple(sorted(path.stem for path in (self.folder / "qrels").glob("*.qrels")))


def _existing(
    collection: Collection, path: Path, kind: str, name: str, names: Sequence[str]
) -> Path:
    if name not in names:
        folder = collection.folder
        none_yet = f"it has none yet; next: {next_for_qrels(folder)}"
        hint = f"there are: {', '.join(names)}" if names else none_yet
        raise Misuse(f"{folder} has no {kind} {name!r}; {hint}")
    return path


STEPS = {
    "corpus.jsonl": "labeler corpus ingest DOCUMENTS -o {}",
    "queries.jsonl": "labeler generate {} (or ingest with a file of queries)",
    "pool.jsonl": "labeler pool {} (or labeler import, to judge the pairs that people judged)",
    "qrels": "labeler judge {}",
}
"""What makes each part of a collection, in the order in which they need each other."""


def next_step(folder: Path) -> str:
    """The command that makes the first part of a collection that is not there."""
    missing = (how for part, how in STEPS.items() if not (folder / part).exists())
    return next(missing, STEPS["qrels"]).format(folder)


def next_for_qrels(folder: Path) -> str:
    """The command that gives qrels to a collection that has none.

    Where a folder of BEIR's holds grades of people, it says how these come in.
    """
    files = sorted(path for path in (folder / "qrels").glob("[!.]*.*") if path.suffix in _TABLES)
    if not files:
        return next_step(folder)
    best = next((path for path in files if "test" in path.name), files[0])
    return f"labeler import {best}"


_TABLES = (".tsv", ".csv", ".json", ".jsonl", ".parquet", ".txt")


def collection_of_qrels(path: Path) -> tuple[Collection, str] | None:
    """The collection in whose folder `qrels` the file stands, and its name there."""
    true = true_path(path)
    if true.parent.name != "qrels":
        return None
    return Collection(true.parent.parent), true.name.removesuffix(".gz").removesuffix(".qrels")


def sources_path(qrels: Path) -> Path:
    """The file beside qrels that says where each of their lines came from."""
    return qrels.with_name(f"{qrels.name}.sources.tsv")


AnyCollection = Collection | Path | str
"""A collection, or the directory of one."""


def open_collection(folder: AnyCollection) -> Collection:
    """The collection in an existing directory; a collection stays as it is.

    Raises `FileProblem` where there is no such directory, or where one of its files is none.

    >>> from labeler.testing import small_collection
    >>> collection = open_collection(small_collection().folder)
    >>> collection.pool.name, collection.qrels("first").name
    ('pool.jsonl', 'first.qrels')
    """
    if isinstance(folder, Collection):
        return folder
    if not Path(folder).is_dir():
        if os.path.exists(folder):
            raise FileProblem(
                f"{folder}: a file, where a collection's directory belongs; labeler import takes "
                "it into one, and labeler evaluate scores runs by qrels alone"
            )
        raise FileProblem(f"{folder}: no such collection directory{did_you_mean(Path(folder))}")
    collection = Collection(Path(folder))
    check_files(collection)
    return collection


def check_files(collection: Collection) -> None:
    """Raise `FileProblem` where a pipe, a device or a socket has the place of a collection's file.

    To read one may take for ever.
    """
    with file_problems(collection.folder):
        for path in _own_paths(collection.folder):
            check_regular(path)


def is_name(text: str) -> bool:
    """Whether a file may be called so, and would then lie in the folder where it belongs."""
    return bool(_NAME.fullmatch(text)) and not text.startswith(".")


_PARTS = ("corpus.jsonl", "queries.jsonl", "pool.jsonl", "card.json", "replies.db")
"""A folder with one of these is a collection's."""

_OWN = re.compile(
    r"(?i)(?:(?:corpus|queries|rejected|unanswerable|pool|dropped)\.jsonl(?:\.gz)?|card\.json|README\.md"
    r"|replies\.db(?:[-.][\w-]+)?|\.lock)",
)
_OWN_FOLDERS = (
    *("annotations", "batches", "controls", "indexes", "judgements", "people"),
    *("repeats", "samples", "vectors"),
)
FOLDERS = (*_OWN_FOLDERS, "qrels", "runs")
"""The folders of a collection, without the states before."""


def is_own_file(path: Path) -> bool:
    """Whether only a collection's commands write a file of this path, be it there or not.

    Runs and qrels of others may be put beside the collection's; so their folders do not count.
    """
    return any(_is_own(Path(name)) for name in (os.path.abspath(path), os.path.realpath(path)))


def _is_own(path: Path) -> bool:
    if path.parent.name.casefold() in _OWN_FOLDERS:
        return is_collection(path.parent.parent)
    return bool(_OWN.fullmatch(path.name)) and is_collection(path.parent, besides=path.name)


def is_collection(folder: Path, besides: str = "") -> bool:
    """Whether a folder holds a file that only collections have, other than `besides`."""
    return any((folder / part).exists() for part in _PARTS if part != besides)


def is_worked_on(folder: Path) -> bool:
    """Whether a folder holds what this tool's commands alone make: a card, a pool or replies."""
    return any((folder / part).exists() for part in ("card.json", "pool.jsonl", "replies.db"))


def collection_files(folder: Path) -> Iterator[Path]:
    """The files of a collection that are there."""
    return (path for path in _own_paths(folder) if path.is_file())


def _own_paths(folder: Path) -> Iterator[Path]:
    """What has the place of a collection's file, be it a file or not."""
    for path in folder.iterdir():
        if _OWN.fullmatch(path.name):
            yield path
        elif path.name in FOLDERS and path.is_dir():
            yield from path.iterdir()


HUMAN = "human"


def check_name(name: str) -> str:
    """`name`, if a file may be called so; `Misuse` otherwise."""
    if not is_name(name):
        problem = f"the name {name!r} may hold only letters, digits and . _ - (not first a dot)"
        raise Misuse(problem, parameter="name")
    return name


def check_set_name(name: str) -> str:
    """`name`, if a model's judgements may be called so; `Misuse` of the name of people's."""
    if check_name(name) == HUMAN:
        problem = f"{HUMAN} is the name of people's grades, and these are a model's"
        raise Misuse(f"{problem}; give another name", parameter="name")
    return name


def safe_name(text: str) -> str:
    """`text` with every character that a name may not hold written as `_`."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", text)


# The lock of a collection: one process at a time changes its files, so that no change is lost.
#
# It is held while files are read, changed and written back, never while a model is asked. Several
# processes may judge at once: each holds the lock for a moment in the beginning and in the end.

POLL_SECONDS = 0.05
QUIET_SECONDS = 0.5
"""How long a wait goes on before anything is said about it: most are over sooner."""

NOTE_SECONDS = 60.0
"""After how long it is said again."""

_HELD: ContextVar[frozenset[str]] = ContextVar("held", default=frozenset())


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Whether nobody else holds the lock that is a file; nobody will as long as the block runs."""
    with file_problems(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    lock = lock_file(path)
    is_free = is_acquired(lock)
    try:
        yield is_free
    finally:
        lock.release()


@contextmanager
def locked(collection: Collection, note: Note = quiet) -> Iterator[None]:
    """Hold the lock of a collection, whose folder is made where there is none.

    Waits while another process or thread holds it, and says so to `note`; Ctrl-C ends the wait. A
    block inside such a block of the same collection goes on at once.
    """
    if _is_held(collection.folder):
        yield
        return
    lock = _FolderLock(collection)
    for seconds in lock.waits(note):
        time.sleep(seconds)
    with lock.as_held():
        yield


@asynccontextmanager
async def locked_in_loop(
    collection: Collection, stop: StopSignal, note: Note = quiet
) -> AsyncIterator[None]:
    """The same in asynchronous work, which goes on meanwhile.

    Raises `Stopped` where the signal is set while it waits.
    """
    import asyncio

    if _is_held(collection.folder):
        yield
        return
    lock, was_set = _FolderLock(collection), stop.is_set()
    for seconds in lock.waits(note):
        await asyncio.sleep(seconds)
        if stop.is_set() and not was_set:
            raise Stopped(f"stopped while another process was writing {collection.folder}")
    with lock.as_held():
        yield


def check_locked(folder: Path) -> None:
    """Raise `RuntimeError` where a collection's file is written without the collection's lock.

    That is a mistake in the code, and no input leads to it.
    """
    if not _is_held(folder):
        raise RuntimeError(f"{folder} is written without its lock; use `locked`")


def _is_held(folder: Path) -> bool:
    return os.path.realpath(folder) in _HELD.get()


class _FolderLock:
    """The lock file of a collection."""

    def __init__(self, collection: Collection) -> None:
        self._folder = collection.folder
        with file_problems(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            # Whoever may write into the folder may lock it, whatever the umask of the first.
            mode = self._folder.stat().st_mode & 0o666
        check_files(collection)
        self._lock = lock_file(collection.lock, mode=mode)

    def waits(self, note: Note) -> Iterator[float]:
        """The seconds to wait before each further try, until the lock is this process' own."""
        began, notes = time.monotonic(), 0
        while not self._is_acquired():
            if time.monotonic() - began >= QUIET_SECONDS + notes * NOTE_SECONDS:
                notes += 1
                note(f"waiting for another process, which is writing {self._folder}")
            yield POLL_SECONDS

    def _is_acquired(self) -> bool:
        try:
            return is_acquired(self._lock)
        except OSError as error:
            problem = f"cannot be locked for writing: {error.strerror or error}"
            raise FileProblem(f"{self._folder}: {problem}") from error

    @contextmanager
    def as_held(self) -> Iterator[None]:
        """Note for this context that the lock is held, and release it in the end."""
        token = _HELD.set(_HELD.get() | {os.path.realpath(self._folder)})
        try:
            yield
        finally:
            _HELD.reset(token)
            self._lock.release()


# Claims: while a process makes a file of a collection, nobody makes it in another way.
#
# A model is asked for hours, so that the collection's lock cannot be held meanwhile. A claim is a
# file beside the one that is made: it says what makes it, and is locked as long as its process
# runs.


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
