"""`rechunk`: cut a collection's documents into passages of another length, and keep the grades."""

from __future__ import annotations

from labeler.collection.corpus import corpus_on_demand
from labeler.collection.layout import AnyCollection, Collection, locked, open_collection
from labeler.corpus.documents import read_documents
from labeler.corpus.ingest import inputs_of, settings_of
from labeler.corpus.update import UpdateResult, change_corpus
from labeler.data import Documents
from labeler.errors import BadInput, FileProblem, Misuse
from labeler.files.paths import Paths, names_of
from labeler.models.session import Control


def rechunk(
    collection: AnyCollection,
    words: int,
    *,
    inputs: Paths = (),
    dry_run: bool = False,
    control: Control | None = None,
) -> UpdateResult:
    """Cut the documents of a collection into passages of about `words` words.

    They are read from where they were ingested from, or from `inputs`, and must be as they were:
    `update` takes edits in. Judgements are carried over as there.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from labeler.corpus.ingest import ingest
    >>> folder = TemporaryDirectory()
    >>> page, made = Path(folder.name, "cats.md"), Path(folder.name, "collection")
    >>> _ = page.write_text("# Cats\\n\\n" + "A cat sleeps anywhere. " * 30)
    >>> _ = ingest(page, made)
    >>> rechunk(made, 60).carryover.passages["split"]
    1
    >>> folder.cleanup()
    """
    opened = open_collection(collection)
    control = control or Control()
    names = names_of(inputs) or inputs_of(opened)
    old = corpus_on_demand(opened.corpus)
    _check_was_cut(opened, old, names)
    how = settings_of(opened).of_length(words)
    try:
        with control.progress("files") as advance:
            ingested = read_documents(names, (opened.folder,), advance, how)
    except FileProblem as error:
        raise Misuse(f"{error}; where are the documents now?", parameter="inputs") from error
    check_unedited(old, ingested.documents)
    del old  # its file is replaced, which Windows forbids while it is open
    with locked(opened, control.note):
        return change_corpus(
            opened, names, ingested, how, dry_run=dry_run, control=control, merges=True
        )


def _check_was_cut(collection: Collection, old: Documents, names: list[str]) -> None:
    """`Misuse` where a collection's documents are rows, which nobody cuts, or nobody knows whence
    they came.
    """
    if not any("headings" in document.metadata for document in old.values()):
        raise Misuse(
            f"{collection.folder}: "
            "its documents were not cut from files, so that there is nothing to cut anew"
        )
    if not names:
        raise Misuse(
            f"{collection.folder}: its card does not say where the documents are; name them",
            parameter="inputs",
        )


def check_unedited(old: Documents, new: Documents) -> None:
    """`BadInput` names a file that is not as it was when the collection was made."""
    hashes = _hashes(new)
    for file, sha256 in _hashes(old).items():
        if hashes.get(file) != sha256:
            state = "was edited" if file in hashes else "is not there any more"
            raise BadInput(
                f"{file} {state} since the collection was made; take edits in first: labeler "
                "corpus update DOCUMENTS COLL"
            )


def _hashes(documents: Documents) -> dict[str, str]:
    return {
        str(document.metadata["source"]): str(document.metadata.get("sha256"))
        for document in documents.values()
        if "source" in document.metadata and "headings" in document.metadata
    }
