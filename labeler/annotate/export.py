"""Raters' grades as people's qrels of the collection, which other commands take as they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from labeler.annotate.passages import PageTexts
from labeler.annotate.samples import draw_of, purposes
from labeler.collection.annotations import (
    AnswersGiven,
    JournalRow,
    journal_names,
    journal_path,
    read_journal,
)
from labeler.collection.card import card_section, read_card
from labeler.collection.layout import AnyCollection, Collection, check_name, locked, open_collection
from labeler.collection.people import (
    HumanAnswer,
    SampledPair,
    people_path,
    read_people,
    read_sample,
    sample_path,
)
from labeler.collection.scale import sample_scale
from labeler.data import Pair
from labeler.errors import BadInput, Misuse
from labeler.people.import_labels import ImportOptions, merge_answers


@dataclass(frozen=True)
class AnswersExported:
    """What of a rater's answers became the qrels `name`.

    `cannot_judge` and `open` count the pairs of the sample without a grade, and `outdated` answers
    of texts that were changed since, which no qrels hold: the pairs are open again.
    """

    name: str
    graded: int
    cannot_judge: int
    open: int
    outdated: int = 0


def export_answers(
    collection: AnyCollection,
    rater: str,
    name: str | None = None,
    *,
    sample: str | None = None,
) -> AnswersExported:
    """Write a rater's grades of a sample to `qrels/NAME.qrels` and `people/NAME.jsonl`.

    Without `name` they are called after the rater; without `sample` they are of the only random one
    that was graded. Grades that were written earlier from the same journal are replaced. Raises
    `Misuse` where nothing was graded.

    >>> from labeler.annotate.annotate import AnnotateOptions, rating_sessions
    >>> from labeler.annotate.session import RaterAnswer
    >>> from labeler.testing import small_collection
    >>> collection = small_collection()
    >>> (session,) = rating_sessions(collection, AnnotateOptions(("anna",)))
    >>> _ = session.answer(RaterAnswer(session.state()["item"]["id"], grade=3))
    >>> export_answers(collection, "anna").graded, collection.qrels("anna").exists()
    (1, True)
    """
    opened = open_collection(collection)
    journal = journal_path(opened, rater)
    rows = read_journal(journal)
    if not rows:
        others = [name for name in journal_names(opened) if name != rater]
        there_are = f"; there are answers of {', '.join(others)}" if others else ""
        raise Misuse(f"{rater} has graded nothing{there_are or ', nor has anybody else'}")
    own = sample or _only_sample(opened, rater, rows)
    sampled = {str(row.number): row for row in read_sample(sample_path(opened.folder, own))}
    texts = PageTexts(opened)
    own_rows = [row for row in rows if row.sample == own]
    current = [row for row in own_rows if not row.texts or row.texts == _texts_now(texts, row)]
    given, given_now = (_given(some, sampled) for some in (own_rows, current))
    outdated = len(given.answered - given_now.answered)
    answers = _answers(given_now, sampled, rater)
    _check_scale(opened, own, answers, journal)
    name = check_name(name or default_name(opened, rater, own))
    times = {row.time for row in rows if row.sample == own}
    times |= {answer.time for answer in answers.values()}
    with locked(opened):
        merge_answers(
            opened,
            ImportOptions(name, rater, "", replace=None),
            answers,
            str(journal),
            lambda answer: answer.assessor == rater and answer.time in times,  # not of a sheet
        )
    graded = sum(answer.grade is not None for answer in answers.values())
    return AnswersExported(
        name,
        graded,
        len(answers) - graded,
        len(sampled) - len(answers),
        outdated,
    )


def default_name(collection: Collection, rater: str, sample: str) -> str:
    """The name of a rater's qrels; with the sample in it where that of the rater holds another.

    What people grade for a decision goes to those that decide.
    """
    if deciding := card_section(read_card(collection), "samples", sample).get("qrels"):
        return str(deciding)
    name = rater if purposes(collection).get(sample) == "audit" else f"{rater}-fix"
    path = people_path(collection.folder, name)
    if path.exists():
        draws = {draw_of(collection, row.sample) for row in read_people(path)}
        return name if draws <= {draw_of(collection, sample)} else f"{name}-{sample}"
    return f"{name}-{sample}" if collection.qrels(name).exists() else name


def _only_sample(collection: Collection, rater: str, rows: list[JournalRow]) -> str:
    by_id = purposes(collection)
    graded = dict.fromkeys(row.sample for row in rows if row.purpose == "audit")
    if not graded:
        problem = f"{rater} has graded no pair of a random sample"
        raise Misuse(problem, parameter="sample")
    names = [sample for sample in graded if by_id.get(sample) == "audit"]
    if len(names) != 1:
        listed = ", ".join(names) or f"{', '.join(graded)}, of which no file is left"
        problem = f"which sample's grades? {rater} has graded pairs of these: {listed}"
        raise Misuse(problem, parameter="sample")
    return names[0]


def _given(rows: Iterable[JournalRow], sampled: Container[str]) -> AnswersGiven:
    """The answers to items that the sample still has."""
    given = AnswersGiven()
    for row in rows:
        if row.item in sampled:
            given.take(row)
    return given


def _texts_now(texts: PageTexts, row: JournalRow) -> str:
    """What identifies the texts of an answer as they are now."""
    is_there = row.query_id in texts.queries and row.doc_id in texts.documents
    return texts.identity(row.query_id, row.doc_id) if is_there else row.texts


def _answers(
    given: AnswersGiven, sampled: Mapping[str, SampledPair], rater: str
) -> dict[Pair, HumanAnswer]:
    """The answers by pair."""
    answers = defaultdict[Pair, list[HumanAnswer]](list)
    for item, own in given.standing().items():
        row = sampled[item]
        comment = "; ".join(filter(None, ["cannot judge" * own.cannot_judge, own.note]))
        answers[row.pair].append(
            HumanAnswer(row.pair, own.grade, rater, own.time, comment, row.probability, own.sample)
        )
    # two passages that were merged since are one pair now: the higher grade holds, as of judgements
    lowest = float("-inf")  # "cannot judge"
    return {
        pair: max(rows, key=lambda row: lowest if row.grade is None else row.grade)
        for pair, rows in answers.items()
    }


def _check_scale(
    collection: Collection, sample: str, answers: dict[Pair, HumanAnswer], journal: Path
) -> None:
    scale = sample_scale(collection, sample)
    for pair, answer in answers.items():
        if answer.grade is not None and answer.grade not in scale:
            listed = ", ".join(map(str, sorted(scale)))
            raise BadInput(
                f"{journal}: the grade {answer.grade} of {' '.join(pair)} is none of {listed}"
            )
