"""Which models made the qrels and the queries of a collection, and what its systems are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from labeler.collection.card import card_section, read_card
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection
from labeler.files.paths import true_path


@dataclass(frozen=True)
class MadeBy:
    """The models that judged, as they were asked for and as servers named them; empty for people's.

    `writer` is the model that wrote the queries, `tags` are what runs call their systems, with the
    models behind them.
    """

    models: tuple[str, ...] = ()
    writer: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


def made_by(collection: Collection, name: str) -> MadeBy:
    """What the card says of the collection's qrels of this name, else what its judgements say."""
    card = read_card(collection)
    entry = card_section(card_section(card, "judge"), name)
    served = entry.get("served")
    models = [entry.get("model"), *(served if isinstance(served, list) else [])]
    named = tuple(dict.fromkeys(m for m in models if isinstance(m, str) and m))
    pooled = card_section(card_section(card, "pool"), "runs")
    runs = dict.fromkeys((*pooled, *card_section(card, "retrieve")))
    tags = {run: " ".join(_called(card, run, pooled.get(run))) for run in runs}
    writer = card_section(card, "generate").get("model", "")
    return MadeBy(named or _judged_by(collection.judgements(name)), str(writer), tags)


def models_behind(card: Mapping[str, Any], run: str) -> list[str]:
    """The models that made a run of a collection, as its card tells: encoders and re-rankers."""
    entry = card_section(card_section(card, "retrieve"), run)
    models = entry.get("models")
    names = [entry.get("encoder"), *(models if isinstance(models, list) else [])]
    if run in ("dense", "hybrid"):
        names.append(card_section(card, "pool").get("encoder"))
    return [name for name in names if isinstance(name, str) and name]


def _called(card: Mapping[str, Any], run: str, tag: object) -> list[str]:
    """What a run is called, and the models behind it."""
    return [*([tag] if isinstance(tag, str) else []), *models_behind(card, run)]


def _judged_by(judgements: Path) -> tuple[str, ...]:
    """The models that the first row of judgements names."""
    if not judgements.exists():
        return ()
    models = [
        model
        for row in islice(read_judgements(judgements), 1)
        for model in (row.origin.model, row.judged.model)
    ]
    return tuple(dict.fromkeys(model for model in models if model))


def collection_of_qrels(path: Path) -> tuple[Collection, str] | None:
    """The collection in whose folder `qrels` the file stands, and its name there."""
    true = true_path(path)
    if true.parent.name != "qrels":
        return None
    return Collection(true.parent.parent), true.name.removesuffix(".gz").removesuffix(".qrels")
