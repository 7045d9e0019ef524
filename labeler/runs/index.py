"""`index`: the vectors of a corpus in a database, each once, and only what has changed.

What is there is asked of the database itself, part by part: beside each vector stands a hash of the
text that it was made of. So the same call goes on after a kill, from any machine, and after
`update` it sends what is new, and removes what is gone.
"""

from __future__ import annotations

from pathlib import Path

from labeler.collection.card import update_card_entry
from labeler.collection.layout import Collection, open_collection
from labeler.collection.lock import locked
from labeler.collection.search.searched import searched_corpus
from labeler.errors import Misconfigured, Misuse
from labeler.models.control import Control
from labeler.models.encoders import EncoderTexts, Encoding
from labeler.models.encoding import EncodingPlan
from labeler.models.loop import run_to_end
from labeler.runs.engines.databases.address import PgvectorAddress, vector_address
from labeler.runs.unsent import Unsent, unsent_documents
from labeler.runs.uploading import SECTION, IndexOptions, IndexResult, Upload
from labeler.text.vectors import DENSE_EXTRA, can_encode


def index(
    collection: Collection | Path | str,
    vectors: str,
    encoding: Encoding | None = None,
    options: IndexOptions | None = None,
    control: Control | None = None,
) -> IndexResult:
    """Put the vectors of a collection's documents into a database, where searches find them.

    `vectors` is the address of a collection of Qdrant's or of a table of PostgreSQL's, which is
    made where it is not there. Nothing is encoded or sent twice: the same call goes on after a
    kill. Raises `Misuse` where the vectors there are of another encoder.

    >>> index("coll", "qdrant://127.0.0.1:6333/docs?vector=a&x=1")
    Traceback (most recent call last):
        ...
    labeler.errors.Misuse: an address of Qdrant's may set vector, not 'x'
    """
    address = vector_address(vectors)
    opened, how = open_collection(collection), options or IndexOptions()
    used, watch = encoding or Encoding(), control or Control()
    _check_encoder(used)
    if how.hnsw and not isinstance(address, PgvectorAddress):
        raise Misuse("Qdrant builds its own index; leave it out", parameter="hnsw")
    with watch.progress("reading the corpus") as advance:
        corpus = searched_corpus(opened, advance)
    upload = Upload(opened, address, used, how, watch, corpus)
    result = run_to_end(upload.run)
    entry = {
        "source": upload.source,
        "encoder": result.encoder,
        "corpus": corpus.sha256,
        "documents": result.documents,
    }
    with locked(opened, watch.note):
        update_card_entry(opened, SECTION, str(address), entry)
    return result


def plan_index(
    collection: Collection | Path | str, vectors: str, encoding: Encoding
) -> EncodingPlan | None:
    """What a server would be asked for the vectors that are not there yet; None where none is."""
    address, opened = vector_address(vectors), open_collection(collection)
    _check_encoder(encoding)
    if not encoding.options.is_served:
        return None
    corpus, prefix = searched_corpus(opened), encoding.options.document_prefix
    is_unsent = run_to_end(lambda _stop: unsent_documents(corpus, address, prefix))
    return encoding.plan(opened.vectors, EncoderTexts(Unsent(corpus, is_unsent)))


def _check_encoder(encoding: Encoding) -> None:
    encoding.options.check()
    if encoding.options.is_embedded and not can_encode():
        raise Misconfigured(DENSE_EXTRA)
