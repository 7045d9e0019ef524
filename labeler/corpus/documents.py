"""Read the files of inputs as documents with stable ids, and count what was not read."""

from __future__ import annotations

import json
import unicodedata
import weakref
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from tempfile import SpooledTemporaryFile, gettempdir
from typing import NamedTuple

from labeler.corpus.blocks import FileRules, Lengths
from labeler.corpus.cut import passages_of, writable
from labeler.corpus.find import InputFiles, PassedOver, find_files
from labeler.corpus.losses import Losses, loss_line, together
from labeler.corpus.read import documents_in, holds_rows, kind_of, kinds_read
from labeler.data import Document, Query
from labeler.errors import BadInput, FileProblem, Misconfigured, Misuse
from labeler.exchange.bundles import is_archive, opened
from labeler.exchange.fields import FieldNames
from labeler.files.jsonl import DocumentsByRow, JsonObject, RowIndex
from labeler.files.read import file_problems, sha256_of
from labeler.messages import Advance, count_of
from labeler.options import option

# Documents that are read one after another, their texts kept in a file in place of the memory.

HELD = 1 << 24
"""So many bytes stay in the memory: a small corpus needs no file."""


class Mark(NamedTuple):
    """How far documents had come at some time."""

    documents: int
    texts: int


class StoredDocuments(DocumentsByRow):
    """Documents by id; the memory holds where each stands in a temporary file, and hashes of ids.

    A passage whose title and text were read before is not held again. `held` is how many bytes stay
    in the memory.
    """

    def __init__(self, held: int = HELD) -> None:
        self._file = SpooledTemporaryFile(max_size=max(1, held), prefix="labeler-")  # noqa: SIM115  closed with this
        weakref.finalize(self, _close, self._file)
        self.rows = RowIndex()
        self._starts = array("q", [0])
        self._texts = RowIndex()

    def add(self, document: Document) -> None:
        """Add a document, unless there is one of its id."""
        count = len(self)
        if self.rows.add(document.id) < count:
            return
        row = [document.id, document.title, document.text, dict(document.metadata)]
        raw = json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")
        with file_problems(Path(gettempdir())):
            self._file.seek(self._starts[-1])
            self._file.write(raw)
        self._starts.append(self._starts[-1] + len(raw))

    def add_passage(self, document: Document) -> bool:
        """Add a passage, unless there is one of the same title and text; whether it is new."""
        count = len(self._texts)
        is_new = self._texts.add(f"{document.title}\0{document.text}") == count
        if is_new:
            self.add(document)
        return is_new

    def mark(self) -> Mark:
        """How far it has come, to go back to."""
        return Mark(len(self), len(self._texts))

    def go_back(self, mark: Mark) -> None:
        """Forget whatever was added since a mark."""
        self.rows.go_back(mark.documents)
        self._texts.go_back(mark.texts)
        del self._starts[mark.documents + 1 :]

    def is_before(self, doc_id: str, mark: Mark) -> bool:
        """Whether a document was there at a mark."""
        number = self.rows.find(doc_id)
        return number is not None and number < mark.documents

    def document(self, row: int) -> Document:
        """The document of a row, from 0."""
        with file_problems(Path(gettempdir())):  # what is not written yet is, before it is read
            self._file.seek(self._starts[row])
            raw = self._file.read(self._starts[row + 1] - self._starts[row])
        doc_id, title, text, metadata = json.loads(raw.decode("utf-8", "surrogatepass"))
        return Document(doc_id, text, title, metadata)


def _close(file: SpooledTemporaryFile[bytes]) -> None:
    with suppress(OSError):  # of a full disk: nothing of the file is needed any more
        file.close()


# How far the reading of files has come: a step for each file, and more for large ones.

_BYTES_OF_A_STEP = 1 << 22


def _steps_of(path: Path) -> int:
    with suppress(OSError):
        return 1 + path.stat().st_size // _BYTES_OF_A_STEP
    return 1


@dataclass(repr=False)
class Ingested(PassedOver):
    """The documents by id, and what became of every file.

    `other_kinds` counts the files of kinds that are not read, by ending; `duplicates` counts
    passages that an earlier file had already; `parameter` is the one that would help to read a
    file; `missing_extras` counts files by what has to be installed to read them; `losses` says what
    of each file stands in no document.
    """

    documents: StoredDocuments = field(default_factory=StoredDocuments)
    files: int = 0
    other_kinds: Counter[str] = field(default_factory=Counter)
    duplicates: int = 0
    queries: dict[str, Query] = field(default_factory=dict)
    parameter: str = ""
    missing_extras: Counter[str] = field(default_factory=Counter)
    losses: dict[str, Losses] = field(default_factory=dict)

    def as_json(self) -> JsonObject:
        """The counts by name, and what was not read."""
        return {
            "files": self.files,
            "documents": len(self.documents),
            "duplicates": self.duplicates,
            "unread": self.unread,
            "links_out": self.links_out,
            "left_out": dict(sorted(self.left_out.items())),
            "missing_extras": dict(self.missing_extras),
            "other_kinds": dict(sorted(self.other_kinds.items())),
            "queries": len(self.queries),
            "losses": {
                **asdict(self.all_losses),
                "files": {path: asdict(each) for path, each in self.losses.items() if each.rules},
            },
        }

    @property
    def all_losses(self) -> Losses:
        """What all files together lose."""
        return together(self.losses.values())

    def __repr__(self) -> str:
        return (
            f"Ingested({len(self.documents)} documents from {self.files} files, "
            f"{len(self.unread)} not read)"
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """How documents are read: which files, how large, how cut, and what rows call their fields.

    Links that lead out of a folder are read with `follow_links` alone.
    """

    follow_links: bool = option(False, "Read links that lead out of a folder, too.", rare=True)
    files: FileRules = field(default_factory=FileRules)
    fields: FieldNames = field(default_factory=FieldNames)

    def of_length(self, words: int) -> Reading:
        """The same with passages of about so many words."""
        return replace(self, files=replace(self.files, words=words))


_USUAL = Reading()


def read_documents(
    inputs: Sequence[str],
    leave_out: Iterable[Path] = (),
    advance: Advance = lambda _done, _total: None,
    how: Reading = _USUAL,
) -> Ingested:
    """The documents of folders, files and patterns, or of one ZIP archive.

    Raises `BadInput` where none of the files holds any.
    """
    archive = next((name for name in inputs if is_archive(Path(name))), None)
    if archive is None:
        return _read_all(inputs, leave_out, advance, how)
    if len(inputs) > 1:
        raise Misuse(f"{archive}: an archive is read alone, as paths in it begin anew")
    with opened(Path(archive)) as inside:
        try:
            result = _read_all([str(inside)], leave_out, advance, how)
        except BadInput as error:
            raise BadInput(
                str(error).replace(str(inside), archive), parameter=error.parameter
            ) from error
    for lines in (result.unread, result.collection_files, result.links_out):
        lines[:] = [line.replace(str(inside), archive) for line in lines]
    return result


def _read_all(
    inputs: Sequence[str], leave_out: Iterable[Path], advance: Advance, how: Reading
) -> Ingested:
    input_files = find_files(inputs, leave_out, how.files, follow_links=how.follow_links)
    result = Ingested(
        left_out=input_files.left_out,
        links_out=input_files.links_out,
        collection_files=input_files.collection_files,
        unread=input_files.unread,
    )
    sizes = [_steps_of(path) for path in input_files.files]
    total = sum(sizes)
    folders = [path for path in map(Path, inputs) if path.is_dir()]
    for path, size, end in zip(input_files.files, sizes, accumulate(sizes), strict=True):

        def within(step: int, size: int = size, end: int = end) -> None:
            advance(end - size + min(step, size - 1), total)

        # the folder below which files are inlined: the input that a file is in, or its own folder
        tree = next((folder for folder in folders if path.is_relative_to(folder)), path.parent)
        shown = _relative_path(path, input_files.base)
        file = _InputFile(path, shown, str(path) in inputs, tree, within)
        result.files += _read_into(result, file, how)
        advance(end, total)
    if not result.documents:
        raise BadInput(_nothing_read(inputs, input_files, result), parameter=result.parameter)
    _refuse_losses(result, how.files.most_lost)
    return result


def _refuse_losses(result: Ingested, most_lost: float) -> None:
    """`BadInput` where a file loses more of its text than it may, with what it loses."""
    worst = {path: each for path, each in result.losses.items() if each.share > most_lost}
    for path, each in sorted(worst.items(), key=lambda entry: -entry[1].share)[:1]:
        others = f", and {count_of(len(worst) - 1, 'other file')}" if len(worst) > 1 else ""
        raise BadInput(
            f"{path}: {each.share:.0%} of its text would be left out{others} "
            f"({loss_line({path: each})}); most_lost, {most_lost:g}, allows less",
            parameter="most_lost",
        )


class _InputFile(NamedTuple):
    """A file to read, its path as documents name it, whether it was named itself, and the tree.

    `within` is told how many steps of the file are done.
    """

    path: Path
    shown_path: str
    is_named: bool
    tree: Path
    within: Callable[[int], None]


def _read_into(result: Ingested, file: _InputFile, how: Reading) -> bool:
    """Add the documents of a file, all or none; where there are none, the result says why.

    A file that was named is read by its content where its name says nothing.
    """
    path, is_named = file.path, file.is_named
    kind = kind_of(path)
    before = result.documents.mark()
    duplicates = result.duplicates
    try:
        if not (kind in kinds_read() or (is_named and holds_rows(path))):
            result.other_kinds[kind or path.name] += 1
            return False
        if _add_documents(result, file, how):
            return True
        result.unread.append(writable(f"{path}: no text in it besides headings and markup"))
    except (BadInput, FileProblem) as error:
        result.unread.append(writable(str(error)))
        result.parameter = result.parameter or error.parameter
    except Misconfigured as error:
        if is_named:
            raise
        result.missing_extras[str(error)] += 1
    result.losses.pop(writable(file.shown_path), None)
    result.documents.go_back(before)
    result.duplicates = duplicates
    return False


def _add_documents(result: Ingested, file: _InputFile, how: Reading) -> bool:
    """Add the documents of a file one by one; whether any of them has a text.

    `BadInput` where an id stands in an earlier file, too.
    """
    before = result.documents.mark()
    has_text = False
    digest = ""
    characters = 0
    lengths = Lengths(how.files.words)
    for source in documents_in(file.path, how.fields, file.tree, people=how.files.people):
        step = characters // _BYTES_OF_A_STEP
        characters += len(source.text)
        if characters // _BYTES_OF_A_STEP > step:
            file.within(characters // _BYTES_OF_A_STEP)
        has_text = has_text or source.has_text
        if source.losses is not None:
            result.losses[writable(file.shown_path)] = source.losses
        if source.id is not None:
            if result.documents.is_before(source.id, before):
                raise BadInput.at(
                    file.path, source.line, f"the id {source.id!r} stands in an earlier file too"
                )
            document = Document(source.id, source.text, source.title, source.metadata)
            result.documents.add(document)  # a row with an id of its own stays as it is
            continue
        with file_problems(file.path):
            digest = digest or sha256_of(file.path)
        for document in passages_of(source, file.shown_path, digest, lengths):
            result.duplicates += not result.documents.add_passage(document)
    return has_text


def _relative_path(path: Path, base: Path) -> str:
    """Return a file's path as documents name it: relative to the input, with slashes."""
    absolute = path.absolute()
    above = base.absolute()
    shown = absolute.relative_to(above) if absolute.is_relative_to(above) else absolute
    return unicodedata.normalize("NFC", shown.as_posix())


def _nothing_read(inputs: Sequence[str], input_files: InputFiles, result: Ingested) -> str:
    """Why there is no document in inputs, by the first of the reasons that there are."""
    kinds = ", ".join(sorted(result.other_kinds))
    readable = ", ".join(kinds_read())
    reasons = (
        *(f"no document could be read: {problem}" for problem in result.unread[:1]),
        *result.missing_extras,
        f"no file of a kind that can be read, only {kinds}; known: {readable}"
        if input_files.files
        else "",
        *(f"nothing but links that lead out of it, as {link}" for link in result.links_out[:1]),
        *(f"no file in it that is read; left out: {reason}" for reason in result.left_out),
        "no file in it",
    )
    return f"{', '.join(inputs)}: {next(filter(None, reasons))}"
