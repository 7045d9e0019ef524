"""Measure the embedded encoders: nDCG@10 beside BM25, and processor time beside a plain loop.

    python scripts/measure_encoders.py MEDQUAD/ CHORUS/ [--texts 32] [--repeats 3]

The directories are what `labeler fetch medquad` and `labeler fetch chorus` make; vectors of
`minilm` are kept in them. The peer is onnxruntime as its examples use it: batches of 32 texts,
padded to the longest, with the settings it comes with. Both encode the same texts in turn; printed
are the smallest seconds of a processor (user and system) a text, once of long texts, of 256 tokens
each, and once of the first 10 to 100 words of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from harness import parser

from labeler.collection.corpus import read_corpus
from labeler.collection.layout import Collection
from labeler.collection.queries import read_queries
from labeler.collection.search import Searched, bm25_run, dense_run
from labeler.metrics import evaluate
from labeler.models import embedded
from labeler.models.encoders import EncoderTexts, Encoding
from labeler.models.settings import MINILM, WORDLLAMA, EncoderOptions
from labeler.text.terms import text_to_search
from labeler.trec.files import read_qrels

DEPTH = 100
MEASURE = "nDCG@10"
PADDED = 32


def scores(folder: Path) -> dict[str, float]:
    """The mean nDCG@10 of each retriever, by people's grades."""
    collection = Collection(folder)
    documents, queries = read_corpus(collection.corpus), read_queries(collection.queries)
    searched, asked = Searched.of(documents.values()), list(queries.values())
    texts = EncoderTexts([*map(text_to_search, documents.values())], [q.text for q in asked])
    runs = {"bm25": bm25_run(searched, asked, DEPTH)}
    for name in (WORDLLAMA, MINILM):
        encoder = Encoding(EncoderOptions(name)).ready(collection.vectors, texts)
        runs[name] = dense_run(searched, asked, encoder, DEPTH)
    people = read_qrels(collection.qrels("human"))
    return {name: evaluate(people, run, [MEASURE]).means()[MEASURE] for name, run in runs.items()}


def padded() -> Callable[[Sequence[str]], Any]:
    """The peer."""
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(embedded.TOKENIZER.path))
    tokenizer.enable_truncation(embedded.TOKENS)
    tokenizer.enable_padding(pad_id=0, pad_token="[PAD]")
    session = onnxruntime.InferenceSession(str(embedded.WEIGHTS.path))

    def encode(texts: Sequence[str]) -> Any:
        parts = []
        for start in range(0, len(texts), PADDED):
            some = tokenizer.encode_batch([*texts[start : start + PADDED]])
            ids, mask = (np.array([getattr(e, n) for e in some]) for n in ("ids", "attention_mask"))
            given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids * 0}
            hidden = session.run(None, given)[0]
            means = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1)[:, None]
            parts.append(means / np.linalg.norm(means, axis=1)[:, None])
        return np.concatenate(parts)

    return encode


def seconds(encode: Callable[[Sequence[str]], Any], texts: Sequence[str]) -> float:
    """Of a processor, a text."""
    before = os.times()
    encode(texts)
    after = os.times()
    return (after.user + after.system - before.user - before.system) / len(texts)


def main(folders: list[str], texts: int, repeats: int) -> None:
    for folder in folders:
        means = "  ".join(f"{name} {mean:.3f}" for name, mean in scores(Path(folder)).items())
        print(f"{Path(folder).name}  {MEASURE}: {means}", flush=True)
    documents = map(text_to_search, read_corpus(Collection(Path(folders[0])).corpus).values())
    long = [*islice((text for text in documents if len(text) > 2000), texts)]
    cut = [" ".join(text.split()[: 10 + 90 * n // texts]) for n, text in enumerate(long)]
    embedded.fetch_minilm()
    peer = padded()
    for name, some in (("long", long), ("short", cut)):
        peers, ours = zip(
            *((seconds(peer, some), seconds(embedded.encode, some)) for _ in range(repeats)),
            strict=True,
        )
        apart = np.abs(peer(some) - embedded.encode(some)).max()
        print(
            f"{name} texts: padded {min(peers):.4f} s  {MINILM} {min(ours):.4f} s  "
            f"ratio {min(ours) / min(peers):.2f}  largest difference {apart:.0e}"
        )


if __name__ == "__main__":
    options = parser(__doc__, texts=32, repeats=3)
    options.add_argument("folders", nargs="+")
    given = options.parse_args()
    main(given.folders, given.texts, given.repeats)
