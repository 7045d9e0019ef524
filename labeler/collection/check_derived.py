"""Whether what is derived from a collection's texts is whole and of these texts.

Nothing here is an error: indexes and vectors are made anew where they are missing. An index that is
damaged, or of other documents, is never used; a damaged vector neither.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from labeler.collection.layout import FOLDERS, Collection
from labeler.collection.monitoring import read_watch_run, watch_files
from labeler.collection.parts import CorpusParts
from labeler.collection.problems import Contents, Problems
from labeler.errors import BadInput
from labeler.files.arrays import about_arrays
from labeler.files.atomic import partial_files
from labeler.messages import count_of
from labeler.store.vectors import VectorFile, encoder_of

_ANEW = "it may be deleted, and is made anew where it is needed"


def check_indexes(collection: Collection, path: Path, _seen: Contents, problems: Problems) -> None:
    """Indexes are whole, and of the documents as they are."""
    warn = partial(problems.add, level="warning")
    current: set[str] = set()
    for index in sorted(path.glob("[!.]*")):
        about = about_arrays(index) if index.suffix == ".index" and index.is_file() else None
        if about is None:
            warn(index, 0, "damaged indexes", f"no index that is whole; {_ANEW}")
            continue
        current = current or _hashes_of(collection.corpus)
        if about.get("documents") not in current:
            warn(index, 0, "indexes of others", f"the index of other documents; {_ANEW}")


def _hashes_of(corpus: Path) -> set[str]:
    parts = CorpusParts.of(corpus)
    return {parts.sha256, *parts.parts}


def check_vectors(_collection: Collection, path: Path, _seen: Contents, problems: Problems) -> None:
    """Files of vectors hold whole records."""
    warn = partial(problems.add, level="warning")
    for file in sorted(path.glob("[!.]*")):
        try:
            encoder = encoder_of(file)
            vectors = None if encoder is None else VectorFile.read(file, encoder)
        except BadInput as error:
            warn(file, 0, "no vectors", str(error).removeprefix(f"{file}: "))
            continue
        if vectors is None:
            warn(file, 0, "vectors cut off", "its first line was cut off; no vector is in it")
        elif vectors.damaged:
            records = count_of(vectors.damaged, "vector is", "vectors are")
            text = f"{records} damaged; the texts are encoded again"
            warn(file, 0, "damaged vectors", text)


def check_monitoring(
    collection: Collection, _path: Path, _seen: Contents, problems: Problems
) -> None:
    """What runs of the watch said can be read; the next run passes over a file that cannot."""
    for file in watch_files(collection):
        try:
            read_watch_run(file)
        except BadInput as error:
            text = str(error).removeprefix(f"{file}: ")
            problems.add(file, 0, "runs of the watch", text, level="warning")


def check_left_over(
    collection: Collection, _path: Path, _seen: Contents, problems: Problems
) -> None:
    """No process that was killed has left a part of a file."""
    folders = (collection.folder / name for name in ("", *FOLDERS))
    for folder in folders:
        for path in partial_files(folder) if folder.is_dir() else ():
            text = "part of a file, left by a process that was killed; it may be deleted"
            problems.add(path, 0, "parts of files", text, "warning")
    for path in sorted((collection.folder / "history").glob(".*.partial")):
        text = "part of a copy, left by a process that was killed; it may be deleted"
        problems.add(path, 0, "parts of copies", text, "warning")
