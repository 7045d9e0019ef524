"""Upstream collections with people's judgements, in the layouts in which they are published."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from labeler.catalog.recipes import Recipe
from labeler.data import Document, Pair, Query
from labeler.errors import BadInput, LabelerError
from labeler.exchange.shapes import head_of
from labeler.exchange.tables import delimiter_of, first_line, rows_of_text
from labeler.files.boundary import reading
from labeler.files.jsonl import identifier
from labeler.files.read import decoded, file_problems

HUMAN = "human"
_ANSWER = re.compile(r"\s*Question: (.*?)\nURL: (.*?)\nAnswer: (.*)", re.DOTALL)
_LARGEST_MEMBER = 2**28


@dataclass
class UpstreamCollection:
    """Queries, documents and sets of qrels by name, and every pair that somebody judged, in order.

    `conflicts` are pairs that have two grades upstream: they are in the pool and in no `human`
    qrels, since no rule says which of two people is right. `card` is what the card says of it all.
    """

    queries: dict[str, Query] = field(default_factory=dict)
    documents: dict[str, Document] = field(default_factory=dict)
    qrels: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    pool: list[Pair] = field(default_factory=list)
    conflicts: list[Pair] = field(default_factory=list)
    card: Mapping[str, Any] = field(default_factory=dict)

    def add(self, name: str, pair: Pair, grade: int) -> None:
        """Put a grade into the set of qrels called `name`."""
        self.qrels.setdefault(name, {}).setdefault(pair.query_id, {})[pair.doc_id] = grade


def _grade(path: Path, line: int, recipe: Recipe, upstream_grade: str) -> int:
    """Our grade for one of upstream's."""
    if upstream_grade not in recipe.grades:
        grades = ", ".join(recipe.grades)
        problem = f"the grade {upstream_grade!r:.80} is not in the recipe: {grades}"
        raise BadInput.at(path, line, problem)
    return recipe.grades[upstream_grade]


def read_judged_table(files: Mapping[str, Path], recipe: Recipe) -> UpstreamCollection:
    """A table (`table`) with a row a pair: query, document, its texts, a column an assessor.

    Queries have no ids upstream: they are called `q1`, `q2` … by first appearance. A document's
    text may stand in some of its rows only.
    """
    path = files["table"]
    upstream = UpstreamCollection()
    ids: dict[str, str] = {}
    for line, row in rows_of_text(path, delimiter_of(first_line(head_of(path)))).rows:
        missing = {*recipe.columns.values(), *recipe.qrels.values()} - row.keys()
        if missing:
            raise BadInput.at(path, 1, f"no column {', '.join(sorted(missing))}")
        text = row[recipe.columns["query"]].strip()
        if not text:
            raise BadInput.at(path, line, "a row without a query")
        query_id = ids.setdefault(text, f"q{len(ids) + 1}")
        upstream.queries.setdefault(query_id, Query(query_id, text, {"origin": "real"}))
        texts = (row[recipe.columns[name]].strip() for name in ("text", "title"))
        document = Document(identifier(path, line, row, recipe.columns["document"]), *texts)
        upstream.documents[document.id] = _merged(path, line, upstream, document)
        pair = Pair(query_id, document.id)
        if document.id in upstream.qrels.get(HUMAN, {}).get(query_id, {}):
            raise BadInput.at(path, line, f"the pair {query_id} {document.id:.80} is judged twice")
        upstream.pool.append(pair)
        for name, column in recipe.qrels.items():
            upstream.add(name, pair, _grade(path, line, recipe, row[column].strip()))
    return upstream


def _merged(path: Path, line: int, upstream: UpstreamCollection, document: Document) -> Document:
    earlier = upstream.documents.get(document.id, document)
    if earlier.title != document.title or (
        earlier.text and document.text and earlier.text != document.text
    ):
        raise BadInput.at(path, line, f"the document {document.id!r:.80} had another text before")
    return earlier if earlier.text else document


def read_liveqa_medquad(files: Mapping[str, Path], recipe: Recipe) -> UpstreamCollection:
    """Questions (`questions`, XML) and answers with experts' grades (`answers`, a zip file).

    A pair may stand there with two grades, as answers were judged more than once: it is then in no
    `human` qrels; `lowest` and `highest` hold all pairs.
    """
    path = files["answers"]
    upstream = UpstreamCollection()
    answers = _answers(path, _member(path, recipe.members["answers"]))
    with reading(files["questions"]):
        root = ElementTree.parse(files["questions"]).getroot()
        questions = {query.id: query for query in map(_question, root.iter("NLM-QUESTION"))}
    grades: dict[Pair, list[int]] = {}
    text = _member(path, recipe.members["qrels"])
    for line, row in enumerate(text.split("\n"), start=1):
        if row.strip():
            pair, grade = _judged_answer(path, line, row, recipe)
            if pair.doc_id not in answers or pair.query_id not in questions:
                raise BadInput.at(
                    path, line, f"no question {pair.query_id:.80} or answer {pair.doc_id:.80}"
                )
            grades.setdefault(pair, []).append(grade)
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


def _member(path: Path, name: str) -> str:
    try:
        with file_problems(path), zipfile.ZipFile(path) as archive:
            if archive.getinfo(name).file_size > _LARGEST_MEMBER:
                raise BadInput(f"{path}: {name} is too large")
            return decoded(path, archive.read(name))
    except LabelerError:
        raise
    except Exception as error:  # encrypted, of an unknown method, damaged: each raises another
        raise BadInput(f"{path}: not a zip file with {name} ({error})") from error


def _answers(path: Path, text: str) -> dict[str, Document]:
    documents: dict[str, Document] = {}
    for line, row in rows_of_text(path, ",", lines=text.split("\n")).rows:
        if "Answer" not in row:
            raise BadInput.at(path, 1, "no column Answer")
        parts = _ANSWER.fullmatch(row["Answer"])
        if not parts:
            raise BadInput.at(path, line, "expected 'Question: … URL: … Answer: …'")
        title, url, answer = (part.strip() for part in parts.groups())
        key = identifier(path, line, row, "AnswerID")
        documents[key] = Document(key, answer, title, {"url": url})
    return documents


def _question(element: ElementTree.Element) -> Query:
    """Return a question's summary as the query, and what the person wrote as its description."""
    subject, message, summary, paraphrase = (
        " ".join((element.findtext(tag) or "").split())
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


def _judged_answer(path: Path, line: int, row: str, recipe: Recipe) -> tuple[Pair, int]:
    columns = row.split()
    if len(columns) != 3:
        raise BadInput.at(path, line, f"expected question, grade, answer; found {row[:60]!r}")
    question, grade, answer = columns
    return Pair(f"TQ{question}", answer), _grade(path, line, recipe, grade)


READERS: dict[str, Callable[[Mapping[str, Path], Recipe], UpstreamCollection]] = {
    "judged-table": read_judged_table,
    "liveqa-medquad": read_liveqa_medquad,
}
"""The readers by the layouts that a recipe may name."""
