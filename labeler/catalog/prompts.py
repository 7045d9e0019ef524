"""`fetch prompt:NAME`: prompts as their authors publish them, written word for word as files."""

from __future__ import annotations

import tomllib
from pathlib import Path
from textwrap import dedent

from labeler.catalog.obtain import obtain
from labeler.catalog.recipes import UpstreamFile, UpstreamPart, recipe_folder
from labeler.errors import Misuse
from labeler.files.atomic import replacing
from labeler.prompt.read import read_prompt


class PublishedPrompt(UpstreamPart):
    """A prompt: the front matter of its file, and the key of the upstream file with its text."""

    key: str
    front: str
    file: UpstreamFile


class PromptRecipe(UpstreamPart):
    """Prompts of one source: where from, under which licence, and the files that they make."""

    title: str
    licence: str
    citation: str
    homepage: str
    notes: str = ""
    prompts: dict[str, PublishedPrompt]


def prompt_recipes() -> dict[str, PromptRecipe]:
    """The shipped recipes of prompts by name."""
    return {
        path.stem: PromptRecipe.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        for path in sorted((recipe_folder() / "prompts").glob("*.toml"))
    }


def fetch_prompts(name: str, folder: Path, *, force: bool = False) -> list[Path]:
    """Write the prompts of a recipe into a folder; without `force` no other file is replaced."""
    recipes = prompt_recipes()
    if name not in recipes:
        raise Misuse(f"no recipe of prompts {name!r}; known: {', '.join(recipes)}")
    texts: dict[Path, str] = {}
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
