"""Recipes: what a public, human-judged collection consists of and how its files are read."""

from __future__ import annotations

import hashlib
import os
import tomllib
from pathlib import Path
from typing import Annotated, Literal, NamedTuple
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, field_validator

from labeler.collection.layout import is_name
from labeler.errors import BadInput, FileProblem, Misuse, ProviderError
from labeler.files.boundary import problem_of
from labeler.files.cache import exclusive
from labeler.files.paths import cache_folder, expanded, shipped
from labeler.files.read import file_problems
from labeler.messages import Advance, meant
from labeler.trec.rows import LARGEST_GRADE
from labeler.wire.download import Remote, check_sha256, download, quiet

_GITHUB = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"


Grade = Annotated[int, Field(ge=-LARGEST_GRADE, le=LARGEST_GRADE)]


class UpstreamPart(BaseModel):
    """A part of a recipe: what it does not know is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class UpstreamFile(UpstreamPart):
    """An upstream file, pinned: to a commit by its address, and to its bytes by its SHA-256."""

    repository: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    path: str
    size: int = Field(gt=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    address: str = _GITHUB

    @field_validator("path")
    @classmethod
    def _stays_inside(cls, path: str) -> str:
        parts = path.split("/")
        if not all(part.strip(". ") and part.isprintable() and "\\" not in part for part in parts):
            raise ValueError("the path must stay inside its repository")
        return path

    @field_validator("repository")
    @classmethod
    def _has_names(cls, repository: str) -> str:
        if not all(map(is_name, repository.split("/"))):
            raise ValueError("expected OWNER/NAME")
        return repository

    @property
    def url(self) -> str:
        """The address that it is downloaded from."""
        url = self.address.replace("{repository}", self.repository)
        return url.replace("{commit}", self.commit).replace("{path}", quote(self.path))

    @property
    def pinned_path(self) -> str:
        """The path `OWNER/REPO/COMMIT/PATH`, as in a mirror."""
        return f"{self.repository}/{self.commit}/{self.path}"


class Counts(UpstreamPart):
    """The counts that a recipe's files must have, so that a misread file is noticed."""

    queries: int
    documents: int
    pairs: int
    conflicts: int = 0


class Recipe(UpstreamPart):
    """A collection: where from, under which licence, and the mapping onto ours.

    `sources`, `columns` and `members` are named by the parts that the reader of the `layout` asks
    for; `qrels` says which column is which set of qrels; `grades` maps upstream's grades to ours;
    `consensus` says from whose grades a set of qrels was made.
    """

    title: str
    licence: str
    citation: str
    homepage: str
    layout: Literal["judged-table", "liveqa-medquad"]
    notes: str = ""
    sources: dict[str, UpstreamFile] = Field(min_length=1)
    columns: dict[str, str] = Field(default_factory=dict)
    members: dict[str, str] = Field(default_factory=dict)
    qrels: dict[str, str] = Field(default_factory=dict)
    grades: dict[str, Grade] = Field(min_length=1)
    scale: dict[str, str] = Field(default_factory=dict)
    consensus: dict[str, list[str]] = Field(default_factory=dict)
    counts: Counts

    @field_validator("qrels")
    @classmethod
    def _has_names_of_files(cls, qrels: dict[str, str]) -> dict[str, str]:
        for name in qrels:
            if not is_name(name):
                raise ValueError(
                    f"no qrels can be called {name!r}: letters, digits and . _ - alone"
                )
        return qrels


class RecipeFile(NamedTuple):
    """A recipe, the name of its file, and its identity: name and content's hash."""

    name: str
    id: str
    recipe: Recipe


def recipe_files() -> dict[str, Path]:
    """Return the shipped recipes by name."""
    return {path.stem: path for path in sorted(shipped("datasets").glob("*.toml"))}


def find_recipe(name: str) -> RecipeFile:
    """Return a shipped recipe by its name, or any recipe by its file's path."""
    shipped = recipe_files()
    if name in shipped:
        return read_recipe(shipped[name])
    if name.endswith(".toml"):
        return read_recipe(Path(name))
    names = [*shipped, "model"]
    hint = meant(name, names)
    others = f"a .toml file's path, or ir_datasets:{name} if that package has it"
    raise Misuse(f"no recipe {name!r}; {hint}known: {', '.join(names)}, {others}")


def read_recipe(path: Path) -> RecipeFile:
    """Read the recipe in a file; `BadInput` says what is wrong with it."""
    try:
        raw = path.read_bytes()
        recipe = Recipe.model_validate(tomllib.loads(raw.decode("utf-8")))
    except OSError as error:
        raise FileProblem(f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # pydantic's own are such, too
        raise BadInput(f"{path}: {problem_of(error)}") from error
    identity = f"{path.stem}@{hashlib.sha256(raw).hexdigest()[:8]}"
    return RecipeFile(name=path.stem, id=identity, recipe=recipe)


# Obtain an upstream file with its SHA-256: from a mirror, the cache or the network.


def obtain(source: UpstreamFile, advance: Advance = quiet) -> Path:
    """The path of a file with the source's SHA-256.

    `LABELER_MIRROR` names a folder that holds the same files as `OWNER/REPO/COMMIT/PATH`; no other
    place is then tried. What is downloaded stays in the cache folder under its hash.
    Raises `BadInput`, with both sums, where the file is another one.
    """
    mirror = os.environ.get("LABELER_MIRROR")
    if mirror:
        path = expanded(mirror) / source.pinned_path
        if not path.is_file():
            remedy = f"put {source.url} there, or unset LABELER_MIRROR to download it"
            raise FileProblem(f"{path}: not in the mirror; {remedy}")
        with file_problems(path):
            check_sha256(path, source.sha256, str(path))
        return path
    name = Path(source.path).name
    path = cache_folder() / "downloads" / source.sha256 / name
    with file_problems(path), exclusive(path):
        if path.is_file():
            check_sha256(path, source.sha256, str(path))
            return path
        try:
            download(Remote(source.url, source.size, source.sha256), path, advance)
        except ProviderError as error:
            hint = f"LABELER_MIRROR may name a folder that holds it as {source.pinned_path}"
            raise ProviderError(f"{error}; {hint}") from error
    return path
