"""Make a collection's directory, people's judgements in it, from a public collection's recipe."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import dedent

from labeler import __version__
from labeler.catalog.recipes import (
    READERS,
    Described,
    Recipe,
    RecipeFile,
    UpstreamCollection,
    UpstreamFile,
    UpstreamPart,
    obtain,
)
from labeler.collection.card import card_section, making, read_card, update_card
from labeler.collection.corpus import write_corpus
from labeler.collection.layout import Collection, locked
from labeler.collection.pool import merge_pools, standing_pool, write_pool
from labeler.collection.queries import write_queries
from labeler.data import Document, Pooled
from labeler.errors import BadInput, Misuse, check_known
from labeler.files.atomic import replacing
from labeler.files.boundary import reading
from labeler.files.jsonl import JsonObject
from labeler.files.paths import shipped
from labeler.messages import Advance, Note, quiet
from labeler.prompt.read import read_prompt
from labeler.trec.write import write_qrels


def fetch_collection(
    recipe_file: RecipeFile,
    collection: Collection,
    advance: Advance = quiet,
    tell: Note = lambda _: None,
    *,
    force: bool = False,
) -> UpstreamCollection:
    """Obtain a recipe's files, read them, and write the collection that they make.

    Nothing is written unless every file has its SHA-256 and what is in them is as much as the
    recipe says. With `force` the files that are there are replaced, whoever wrote them.
    """
    refuse_another(recipe_file.name, collection)
    recipe = recipe_file.recipe
    files = {}
    for name, source in recipe.sources.items():
        files[name] = obtain(source, advance)
        tell(f"{source.pinned_path}: SHA-256 as expected")
    upstream = read_upstream(recipe, files)
    upstream.card = _card(recipe_file, upstream)
    write_fetched(upstream, collection, tell, force=force)
    return upstream


def write_fetched(
    upstream: UpstreamCollection,
    collection: Collection,
    tell: Note,
    *,
    force: bool,
    documents: Iterable[Document] | None = None,
) -> None:
    """Write what was fetched as a collection; its `documents` may come one after another."""
    with locked(collection, tell):
        refuse_another(upstream.card["name"], collection)
        qrels = [collection.qrels(name) for name in upstream.qrels]
        with making(collection, [collection.queries, collection.corpus, *qrels], force=force):
            # The card first: where the rest is cut short, the same collection may be fetched again.
            update_card(collection, "fetch", upstream.card)
            write_queries(collection.queries, upstream.queries.values())
            write_corpus(collection.corpus, documents or upstream.documents.values())
            for path, grades in zip(qrels, upstream.qrels.values(), strict=True):
                write_qrels(path, grades)
        old = standing_pool(collection.pool)
        new = [Pooled(pair) for pair in upstream.pool]
        if new or len(old):
            write_pool(collection.pool, merge_pools(old, new) if len(old) else new)


def read_upstream(recipe: Recipe, files: Mapping[str, Path]) -> UpstreamCollection:
    """Read a recipe's files; raise `BadInput` where the counts are not those of the recipe."""
    with reading(recipe.title):  # a part that the layout needs and the recipe does not name
        upstream = READERS[recipe.layout](files, recipe)
    parts = (upstream.queries, upstream.documents, upstream.pool, upstream.conflicts)
    counts = zip(recipe.counts, [len(part) for part in parts], strict=True)
    wrong = [f"{n} {name} instead of {expected}" for (name, expected), n in counts if n != expected]
    if wrong:
        raise BadInput(
            f"{recipe.title}: {', '.join(wrong)}; the recipe's counts do not fit its files"
        )
    return upstream


def refuse_another(name: str, collection: Collection) -> None:
    """Refuse a directory that holds another collection than the one fetched as `name`."""
    if not collection.corpus.exists():
        return
    if card_section(read_card(collection), "fetch").get("name") != name:
        raise Misuse(f"{collection.folder} holds another collection; choose another directory")


def _card(recipe_file: RecipeFile, upstream: UpstreamCollection) -> JsonObject:
    recipe = recipe_file.recipe
    return {
        "labeler": __version__,
        "name": recipe_file.name,
        "recipe": recipe_file.id,
        **recipe.model_dump(include={*Described.model_fields}),
        "sources": [
            {"address": source.url, "sha256": source.sha256} for source in recipe.sources.values()
        ],
        "grades": recipe.grades,
        "scale": recipe.scale,
        **({"consensus": recipe.consensus} if recipe.consensus else {}),
        "counts": recipe.counts.model_dump(),
        "qrels": {
            name: sum(map(len, qrels.values())) for name, qrels in sorted(upstream.qrels.items())
        },
    }


# `fetch prompt:NAME`: prompts as their authors publish them, written word for word as files.


class PublishedPrompt(UpstreamPart):
    """A prompt: the front matter of its file, and the key of the upstream file with its text."""

    key: str
    front: str
    file: UpstreamFile


class PromptRecipe(Described):
    """Prompts of one source, and the files that they make."""

    prompts: dict[str, PublishedPrompt]


def prompt_recipes() -> dict[str, PromptRecipe]:
    """The shipped recipes of prompts by name."""
    return {
        path.stem: PromptRecipe.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        for path in sorted((shipped("datasets") / "prompts").glob("*.toml"))
    }


def fetch_prompts(name: str, folder: Path, *, force: bool = False) -> list[Path]:
    """Write the prompts of a recipe into a folder; without `force` no other file is replaced."""
    recipes = prompt_recipes()
    check_known("recipe of prompts", name, recipes)
    texts = {}
    for stem, published in recipes[name].prompts.items():
        upstream = obtain(published.file).read_text(encoding="utf-8")
        # The file is pinned by its SHA-256, and its last key holds a literal block of YAML.
        template = dedent(upstream.partition(f"{published.key}: |-\n")[2]).rstrip("\n")
        path = folder / f"{stem}.md"
        texts[path] = f"+++\n{published.front}+++\n# user\n{template}\n"
        if path.exists() and not force and path.read_text(encoding="utf-8") != texts[path]:
            raise Misuse(f"{path} is another file; name another folder", parameter="out")
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        with replacing(path, read_prompt) as out:
            out.write(text)
    return list(texts)
