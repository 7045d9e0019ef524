"""Recipes: what a public, human-judged collection consists of and how its files are read."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import tomllib
import zipfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree

from pydantic import BaseModel, ConfigDict, Field, field_validator

from labeler.collection.layout import is_name
from labeler.data import Document, Pair, Query
from labeler.errors import BadInput, BadRow, FileProblem, Misuse, ProviderError
from labeler.exchange.shapes import head_of
from labeler.exchange.tables import delimiter_of, first_line, rows_of_text
from labeler.files.boundary import problem_of, reading
from labeler.files.cache import exclusive
from labeler.files.jsonl import RowValues, identifier
from labeler.files.paths import cache_folder, expanded, shipped
from labeler.files.read import file_problems
from labeler.messages import Advance, meant_or_known, quiet, squeezed
from labeler.trec.rows import LARGEST_GRADE
from labeler.wire.download import Remote, check_sha256, download

Grade = Annotated[int, Field(ge=-LARGEST_GRADE, le=LARGEST_GRADE)]


class UpstreamPart(BaseModel):
    """A part of a recipe: what it does not know is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class UpstreamFile(UpstreamPart):
    """An upstream file, pinned: to a commit by its address, and to its bytes by its SHA-256."""

    repository: str = Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*/[A-Za-z0-9_-][A-Za-z0-9_.-]*$")
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    path: str
    size: int = Field(gt=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    address: str = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"

    @field_validator("path")
    @classmethod
    def _stays_inside(cls, path: str) -> str:
        parts = path.split("/")
        if not all(part.strip(". ") and part.isprintable() and "\\" not in part for part in parts):
            raise ValueError("the path must stay inside its repository")
        return path

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


class Described(UpstreamPart):
    """What is said of a source: its title, its licence, and whom to cite."""

    title: str
    licence: str
    citation: str
    homepage: str
    notes: str = ""


class Recipe(Described):
    """A collection: where from, under which licence, and the mapping onto ours.

    `sources`, `columns` and `members` are named by the parts that the reader of the `layout` asks
    for; `qrels` says which column is which set of qrels; `grades` maps upstream's grades to ours;
    `consensus` says from whose grades a set of qrels was made.
    """

    layout: Literal["judged-table", "liveqa-medquad"]
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
    raise Misuse(
        f"no recipe {name!r}; {meant_or_known(name, [*shipped, 'model'])}, a .toml file's "
        f"path, or ir_datasets:{name} if that package has it"
    )


def read_recipe(path: Path) -> RecipeFile:
    """Read the recipe in a file; `BadInput` says what is wrong with it."""
    with file_problems(path):
        raw = path.read_bytes()
    try:
        recipe = Recipe.model_validate(tomllib.loads(raw.decode("utf-8")))
    except (ValueError, RecursionError) as error:  # pydantic's own are such, too
        raise BadInput(f"{path}: {problem_of(error)}") from error
    return RecipeFile(
        name=path.stem, id=f"{path.stem}@{hashlib.sha256(raw).hexdigest()[:8]}", recipe=recipe
    )


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
            raise FileProblem(
                f"{path}: not in the mirror; put {source.url} there, or unset LABELER_MIRROR to "
                "download it"
            )
        with file_problems(path):
            check_sha256(path, source.sha256, str(path))
        return path
    path = cache_folder() / "downloads" / source.sha256 / Path(source.path).name
    with file_problems(path), exclusive(path):
        if path.is_file():
            check_sha256(path, source.sha256, str(path))
            return path
        try:
            download(Remote(source.url, source.size, source.sha256), path, advance)
        except ProviderError as error:
            raise ProviderError(
                f"{error}; LABELER_MIRROR may name a folder that holds it as {source.pinned_path}"
            ) from error
    return path


# The files, in the layouts in which they are published.

HUMAN = "human"


@dataclass
class UpstreamCollection:
    """Queries, documents and sets of qrels by name, and every pair that somebody judged, in order.

    `conflicts` are pairs that have two grades upstream: they are in the pool and in no `human`
    qrels, since no rule says which of two people is right. `card` is what the card says of it all.
    `passed_on` counts documents that come one after another, and are not held here.
    """

    queries: dict[str, Query] = field(default_factory=dict)
    documents: dict[str, Document] = field(default_factory=dict)
    qrels: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    pool: list[Pair] = field(default_factory=list)
    conflicts: list[Pair] = field(default_factory=list)
    card: RowValues = field(default_factory=dict)
    passed_on: int = 0

    def add(self, name: str, pair: Pair, grade: int) -> None:
        """Put a grade into the set of qrels called `name`."""
        self.qrels.setdefault(name, {}).setdefault(pair.query_id, {})[pair.doc_id] = grade


def _grade(recipe: Recipe, upstream_grade: str) -> int:
    """Our grade for one of upstream's."""
    if upstream_grade not in recipe.grades:
        raise BadRow(
            f"the grade {upstream_grade!r:.80} is not in the recipe: {', '.join(recipe.grades)}"
        )
    return recipe.grades[upstream_grade]


def read_judged_table(files: Mapping[str, Path], recipe: Recipe) -> UpstreamCollection:
    """A table (`table`) with a row a pair: query, document, its texts, a column an assessor.

    Queries have no ids upstream: they are called `q1`, `q2` … by first appearance. A document's
    text may stand in some of its rows only.
    """
    path = files["table"]
    upstream = UpstreamCollection()
    ids = dict[str, str]()
    rows = rows_of_text(path, delimiter_of(first_line(head_of(path))))
    missing = {*recipe.columns.values(), *recipe.qrels.values()}.difference(rows.columns)
    if missing:
        raise BadInput.at(path, 1, f"no column {', '.join(sorted(missing))}")
    with reading(path) as position:
        for line, row in position.follow(rows.rows):
            cells = {name: row[column].strip() for name, column in recipe.columns.items()}
            text = cells["query"]
            if not text:
                raise BadRow("a row without a query")
            query_id = ids.setdefault(text, f"q{len(ids) + 1}")
            upstream.queries.setdefault(query_id, Query(query_id, text, {"origin": "real"}))
            doc_id = identifier(path, line, row, recipe.columns["document"])
            document = Document(doc_id, cells["text"], cells["title"])
            upstream.documents[doc_id] = _merged(upstream, document)
            pair = Pair(query_id, doc_id)
            if doc_id in upstream.qrels.get(HUMAN, {}).get(query_id, {}):
                raise BadRow(f"the pair {query_id} {doc_id:.80} is judged twice")
            upstream.pool.append(pair)
            for name, column in recipe.qrels.items():
                upstream.add(name, pair, _grade(recipe, row[column].strip()))
    return upstream


def _merged(upstream: UpstreamCollection, document: Document) -> Document:
    earlier = upstream.documents.get(document.id, document)
    if earlier.title != document.title or (
        earlier.text and document.text and earlier.text != document.text
    ):
        raise BadRow(f"the document {document.id!r:.80} had another text before")
    return earlier if earlier.text else document


def read_liveqa_medquad(files: Mapping[str, Path], recipe: Recipe) -> UpstreamCollection:
    """Questions (`questions`, XML) and answers with experts' grades (`answers`, a zip file).

    A pair may stand there with two grades, as answers were judged more than once: it is then in no
    `human` qrels; `lowest` and `highest` hold all pairs.
    """
    upstream = UpstreamCollection()
    path = files["answers"]
    grades = defaultdict(list)
    with reading(files["questions"]):
        root = ElementTree.parse(files["questions"]).getroot()
        questions = {query.id: query for query in map(_question, root.iter("NLM-QUESTION"))}
    with reading(path) as position:
        archive = zipfile.ZipFile(io.BytesIO(path.read_bytes()))
        answers_file, judged = (archive.read(recipe.members[p]) for p in ("answers", "qrels"))
        rows = csv.DictReader(io.StringIO(answers_file.decode(), newline=""))
        answers = {row["AnswerID"]: _answer(row) for row in rows}
        for _, row in position.follow(enumerate(judged.decode().splitlines(), start=1)):
            question, grade, answer = row.split()
            pair = Pair(f"TQ{question}", answer)
            grades[pair].append(_grade(recipe, grade))
    with reading(path):
        for pair, upstream_grades in grades.items():
            upstream.queries[pair.query_id] = questions[pair.query_id]
            upstream.documents[pair.doc_id] = answers[pair.doc_id]
            upstream.pool.append(pair)
            upstream.add("lowest", pair, min(upstream_grades))
            upstream.add("highest", pair, max(upstream_grades))
            if len(set(upstream_grades)) > 1:
                upstream.conflicts.append(pair)
            else:
                upstream.add(HUMAN, pair, upstream_grades[0])
    return upstream


def _answer(row: Mapping[str, str]) -> Document:
    """A cell holds lines: a question, its address, and the answer."""
    asked, _, answer = row["Answer"].partition("\nAnswer: ")
    title, _, url = asked.partition("\nURL: ")
    title = title.strip().removeprefix("Question: ")
    return Document(row["AnswerID"], answer.strip(), title.strip(), {"url": url.strip()})


def _question(element: ElementTree.Element) -> Query:
    """Return a question's summary as the query, and what the person wrote as its description."""
    subject, message, summary, paraphrase = (
        squeezed(element.findtext(tag) or "")
        for tag in (
            "Original-Question/SUBJECT",
            "Original-Question/MESSAGE",
            "NLM-Summary",
            "NIST-PARAPHRASE",
        )
    )
    description = ": ".join(filter(None, (subject, message)))
    metadata = {"origin": "real", "description": description, "paraphrase": paraphrase}
    return Query(element.attrib["qid"], summary, {k: v for k, v in metadata.items() if v})


READERS: dict[str, Callable[[Mapping[str, Path], Recipe], UpstreamCollection]] = {
    "judged-table": read_judged_table,
    "liveqa-medquad": read_liveqa_medquad,
}
"""The readers by the layouts that a recipe may name."""
