"""Ids, grades and scores that come as Python objects, checked as the columns of a file are."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from numbers import Integral, Real
from typing import Any

from labeler.errors import BadInput
from labeler.files.jsonl import kept_id
from labeler.trec.rows import LARGEST_GRADE, LONGEST_ID, too_long

# What columns of qrels and runs are usually called, in files and in DataFrames.

QUERY_ID = ("queryid", "qid", "topicid", "topic", "querynumber")
DOCUMENT_ID = (
    *("docid", "docno", "corpusid", "documentid", "passageid", "pid", "did"),
    *("productid", "itemid", "document", "doc", "passage"),
)
GRADE = (
    *("relevance", "label", "grade", "rating", "judgement", "judgment", "rel", "gain"),
    *("relevant", "isrelevant", "escilabel"),
)
SCORE = ("score", "similarity", "sim", "retrievalscore", "relevancescore", "cosinesimilarity")
"""Names as `key_of` spells them, the usual ones first."""


NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)
_PLACE = re.compile(r"(?::\d+|, row [\d,]+)$")
"""The line or row at the end of what says where something stands."""


def key_of(name: str) -> str:
    """A column's name in one spelling: `Query Text`, `query-text` and `queryText` are one."""
    plain = "".join(c if c.isalnum() else "_" for c in name.strip().lstrip("_"))
    return plain.casefold().replace("_", "")


def ids_of(where: str, query: Any, document: Any) -> tuple[str, str]:
    """The ids of a pair as a TREC file can keep them; integers are taken as their digits.

    White space is escaped, and so is a # at the start of a query's, where comments have it.
    """
    query_id = _id(where, "query", query)
    query_id = f"\u241b{query_id}" if query_id.startswith("#") else query_id
    return query_id, _id(where, "document", document)


def _id(where: str, what: str, value: Any) -> str:
    text = value
    if isinstance(value, Integral) and not isinstance(value, bool):
        with suppress(ValueError):  # of more digits than Python prints
            text = str(value)
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise BadInput(f"{where}: expected a {what} id, found {shown(value)}")
    text = kept_id(text, _PLACE.sub("", where))
    try:
        length = len(text.encode())
    except UnicodeEncodeError as error:
        raise BadInput(f"{where}: half a surrogate pair in the id {text!r:.40}") from error
    if length > LONGEST_ID:
        raise BadInput(f"{where}: {too_long(length)}")
    return text


def grade_of(where: str, value: Any) -> int:
    """A grade: an integer, or a number that is one, as columns with gaps have it."""
    if not _is_finite(value) or abs(value) > LARGEST_GRADE or int(value) != value:
        raise BadInput(f"{where}: expected an integer grade, found {shown(value)}")
    return int(value)


def score_of(where: str, value: Any) -> float:
    """A score: a finite number."""
    if not _is_finite(value):
        raise BadInput(f"{where}: expected a finite number as score, found {shown(value)}")
    return float(value)


def _is_finite(value: Any) -> bool:
    """Whether this is a number, and one that a double can be."""
    try:
        return is_number(value) and math.isfinite(value)
    except OverflowError:
        return False


def shown(value: Any) -> str:
    """The beginning of what stands there; an integer may have more digits than Python prints."""
    try:
        return f"{value!r:.40}"
    except ValueError:
        return "a number of too many digits"


def is_number(value: Any) -> bool:
    """Whether this is a number, and neither true nor false."""
    return isinstance(value, Real) and not isinstance(value, bool)
