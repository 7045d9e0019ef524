"""Public collections in: from a recipe to a collection's directory with people's judgements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from labeler import __version__
from labeler.catalog.layouts import READERS, Judged, Layout
from labeler.catalog.obtain import obtain
from labeler.catalog.recipes import NamedRecipe, Recipe
from labeler.collection.card import read_card, update_card
from labeler.collection.corpus import write_corpus
from labeler.collection.layout import Collection
from labeler.collection.pool import merge_pools, read_pool, write_pool
from labeler.collection.queries import write_queries
from labeler.data import Pooled
from labeler.errors import BadInput, Misuse
from labeler.files.download import quiet
from labeler.messages import Advance
from labeler.trec.files import write_qrels


def fetch_collection(
    named: NamedRecipe,
    collection: Collection,
    advance: Advance = quiet,
    tell: Callable[[str], None] = lambda _: None,
) -> Judged:
    """Obtain a recipe's files, read them, and write the collection that they make.

    Nothing is written unless every file has its SHA-256 and what is in them is as much as the
    recipe says.
    """
    _refuse_another(named, collection)
    recipe = named.recipe
    files: dict[str, Path] = {}
    for name, source in recipe.sources.items():
        files[name] = obtain(source, advance)
        tell(f"{source.pinned_path}: SHA-256 as expected")
    judged = read_judged(recipe, files)
    _write(judged, collection)
    update_card(collection, "fetch", _card(named, judged))
    return judged


def read_judged(recipe: Recipe, files: Mapping[str, Path]) -> Judged:
    """What a recipe's files hold; `BadInput` where it is more or less than the recipe says."""
    layout = Layout(recipe.columns, recipe.members, recipe.qrels, recipe.grades)
    judged = READERS[recipe.layout](files, layout)
    found = {
        "queries": len(judged.queries),
        "documents": len(judged.documents),
        "pairs": len(judged.pool),
        "conflicts": len(judged.conflicts),
    }
    expected = recipe.counts.model_dump()
    if found != expected:
        wrong = ", ".join(
            f"{found[name]} {name} instead of {expected[name]}"
            for name in found
            if found[name] != expected[name]
        )
        raise BadInput(f"{recipe.title}: {wrong}; the recipe's counts do not fit its files")
    return judged


def _refuse_another(named: NamedRecipe, collection: Collection) -> None:
    """A directory with another collection in it is left alone."""
    if not collection.corpus.exists():
        return
    card = read_card(collection).get("fetch", {})
    if not isinstance(card, dict) or card.get("name") != named.name:
        raise Misuse(f"{collection.folder} holds another collection; choose another -o")


def _write(judged: Judged, collection: Collection) -> None:
    write_queries(collection.queries, judged.queries.values())
    write_corpus(collection.corpus, judged.documents.values())
    for name, qrels in judged.qrels.items():
        write_qrels(collection.qrels(name), qrels)
    old = read_pool(collection.pool) if collection.pool.exists() else []
    new = [Pooled(pair) for pair in judged.pool]
    write_pool(collection.pool, merge_pools(old, new) if old else new)


def _card(named: NamedRecipe, judged: Judged) -> dict[str, object]:
    recipe = named.recipe
    return {
        "labeler": __version__,
        "name": named.name,
        "recipe": named.id,
        "title": recipe.title,
        "licence": recipe.licence,
        "citation": recipe.citation,
        "homepage": recipe.homepage,
        "notes": recipe.notes,
        "sources": [
            {"address": source.url, "sha256": source.sha256} for source in recipe.sources.values()
        ],
        "grades": recipe.grades,
        "scale": recipe.scale,
        "counts": recipe.counts.model_dump(),
        "qrels": {
            name: sum(map(len, qrels.values())) for name, qrels in sorted(judged.qrels.items())
        },
    }
