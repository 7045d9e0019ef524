"""Whose grades qrels hold: people's, a model's, or those of several, line by line in a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from labeler.collection.card import card_section, read_card
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import (
    HUMAN,
    Collection,
    collection_of_qrels,
    sources_path,
)
from labeler.collection.people import people_path, read_people
from labeler.data import Pair, Qrels
from labeler.errors import BadInput
from labeler.files.boundary import reading
from labeler.files.read import numbered_lines, sha256_of
from labeler.messages import Note, count_of, quiet
from labeler.trec.pairs import PairColumns

# Which models made the qrels and the queries of a collection, and what its systems are called.


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
    entry = card_section(card, "judge", name)
    served = entry.get("served")
    models = [entry.get("model"), *(served if isinstance(served, list) else [])]
    named = tuple(dict.fromkeys(m for m in models if isinstance(m, str) and m))
    pooled = card_section(card, "pool", "runs")
    runs = dict.fromkeys((*pooled, *card_section(card, "retrieve")))
    # what each is called, and the models behind it
    tag_of = {run: [tag] for run, tag in pooled.items() if isinstance(tag, str)}
    tags = {run: " ".join([*tag_of.get(run, ()), *models_behind(card, run)]) for run in runs}
    writer = card_section(card, "generate").get("model", "")
    return MadeBy(named or _judged_by(collection.judgements(name)), str(writer), tags)


def models_behind(card: Mapping[str, Any], run: str) -> list[str]:
    """The models that made a run of a collection, as its card tells: encoders and re-rankers."""
    entry = card_section(card, "retrieve", run)
    models = entry.get("models")
    names = [entry.get("encoder"), *(models if isinstance(models, list) else [])]
    if run in ("dense", "hybrid"):
        names.append(card_section(card, "pool").get("encoder"))
    return [name for name in names if isinstance(name, str) and name]


def _judged_by(judgements: Path) -> tuple[str, ...]:
    """The models that the first row of judgements names."""
    if not judgements.exists():
        return ()
    first = next(read_judgements(judgements), None)
    models = [first.origin.model, first.judged.model] if first else []
    return tuple(dict.fromkeys(filter(None, models)))


COLUMNS = "query_id\tdoc_id\tgrade\tsource"

MIXED = " (mixed)"
"""Stands behind the name of a source that mixes grades itself."""

Whose = Literal["people", "model", "both", ""]
OF_MODELS = ("model", "both")
"""Whose qrels do not count as people's."""


def is_of_people(collection: Collection, name: str) -> bool:
    """Whether a set of qrels is people's: called so, from a sheet, or brought along as theirs."""
    if collection.judgements(name).exists():
        return False
    if name == HUMAN or people_path(collection.folder, name).exists():
        return True
    card = read_card(collection)
    return name in {*card_section(card, "imported"), *card_section(card, "fetch", "qrels")}


def whose(path: Path) -> Whose:
    """Whose grades a file of qrels holds, as far as its collection or its sources tell."""
    if sources_beside(path):
        return "both"
    where = collection_of_qrels(path)
    if where is None or not where[0].card.exists():
        return "people" if path.name.partition(".")[0] == HUMAN else ""
    collection, name = where
    if is_of_people(collection, name):
        return "people"
    is_judged = name in card_section(read_card(collection), "judge")
    return "model" if is_judged or collection.judgements(name).exists() else ""


def mixture(path: Path) -> str:
    """That a file of qrels holds grades from several sources, and how many; empty where not."""
    counts = sources_beside(path)
    if len(counts) < 2 and not any(source.endswith(MIXED) for source in counts):
        return ""
    each = ", ".join(f"{count:,} of {source}" for source, count in counts.most_common())
    return f"{path} mixes grades: {each}"


def not_of_people(path: Path) -> str:
    """That a file of qrels which is taken for people's holds a model's grades; empty where not."""
    if whose(path) != "model":
        return ""
    return f"{path} holds a model's grades, and is taken for people's"


def sources_beside(qrels: Path) -> Counter[str]:
    """How many lines of qrels came from each source; nothing where that is not known.

    A file of sources that was written with other grades says nothing of these.
    """
    path = sources_path(qrels)
    if not path.is_file() or not qrels.is_file():
        return Counter()
    with reading(path):
        lines = (line for _, line in numbered_lines(path))
        if next(lines, "") != f"# sha256 {sha256_of(qrels)}" or next(lines, "") != COLUMNS:
            return Counter()
        return Counter(line.rpartition("\t")[2] for line in lines)


# Pairs that were routed to people: no random sample, so that they enter no statistic as one.

CHOSEN = "chosen for a person to grade, not drawn by chance"


def routed_pairs(collection: Collection, name: str) -> frozenset[Pair]:
    """The pairs of people's qrels that were routed; none where they come from no sheet."""
    path = people_path(collection.folder, name)
    if not path.is_file():
        return frozenset()
    return frozenset(row.pair for row in read_people(path) if row.probability is None)


def sampled_from(collection: Collection, name: str) -> str | None:
    """The qrels whose grades people checked, as the card says of their sample; None where unknown.

    Of several samples it is that of the last answer.
    """
    path = people_path(collection.folder, name)
    samples = card_section(read_card(collection), "samples")
    for row in reversed(read_people(path) if path.is_file() else []):
        source = card_section(samples, row.sample).get("source")
        if isinstance(source, str) and source in collection.qrels_names():
            return source
    return None


def routed_of_file(path: Path) -> frozenset[Pair]:
    """The routed pairs of qrels that stand in a collection's folder of qrels."""
    origin = collection_of_qrels(path)
    return frozenset() if origin is None else routed_pairs(*origin)


def drawn_by_chance(
    qrels: Qrels, routed: frozenset[Pair], source: object, warn: Note = quiet
) -> Qrels:
    """People's grades without those of routed pairs; `BadInput` where none is left.

    `warn` is given a line that counts them.
    """
    if not routed:
        return qrels
    whole = PairColumns.of(qrels, np.int64)
    rest = whole.keep(whole.outside(routed))
    left_out = whole.size - rest.size
    if left_out and not rest:
        problem = f"all {count_of(left_out, 'pair was', 'pairs were')} {CHOSEN}"
        advice = "grade a sheet that `sample` draws, and compare with that"
        raise BadInput(f"{source}: {problem}, so that they tell nothing of the pool; {advice}")
    if left_out:
        counted = count_of(left_out, "pair is", "pairs are")
        warn(f"{source}: {counted} left out, {CHOSEN}")
    return rest
