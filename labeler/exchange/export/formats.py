"""The formats of other tools that a collection can be exported to, by the tools' names."""

from __future__ import annotations

from labeler.exchange.export.beir import BEIR
from labeler.exchange.export.content import Export, FormatName
from labeler.exchange.export.rag import DEEPEVAL, PROMPTFOO, RAGAS
from labeler.exchange.export.search import OPENSEARCH
from labeler.exchange.export.tables import CSV, HUGGING_FACE, MTEB, QUEPID
from labeler.exchange.export.trec import IR_DATASETS, RANX, TREC

EXPORTS: dict[FormatName, Export] = {
    "beir": BEIR,
    "mteb": MTEB,
    "trec": TREC,
    "ranx": RANX,
    "ir_datasets": IR_DATASETS,
    "hf": HUGGING_FACE,
    "csv": CSV,
    "quepid": QUEPID,
    "opensearch": OPENSEARCH,
    "ragas": RAGAS,
    "deepeval": DEEPEVAL,
    "promptfoo": PROMPTFOO,
}
