"""Three sentences: what was measured, how sure that is, and whether people agree."""

from __future__ import annotations

import math

from labeler.agreement.overview import summary
from labeler.collection.whose import made_by
from labeler.collection_report.agreed import AgreementWithPeople
from labeler.collection_report.chosen import ChosenSets
from labeler.collection_report.contents import CollectionContents
from labeler.evaluation.score_report import Report
from labeler.messages import count_of


def three_sentences(
    contents: CollectionContents,
    sets: ChosenSets,
    scores: Report | None,
    agreement: AgreementWithPeople,
) -> tuple[str, str, str]:
    """What was measured, the leading system with its interval, and agreement with people."""
    return (
        _measured(contents, sets, scores),
        _leading(contents, scores),
        _agreeing(contents, sets, agreement),
    )


def _measured(contents: CollectionContents, sets: ChosenSets, scores: Report | None) -> str:
    documents = count_of(contents.documents, "document", "documents")
    if sets.scoring is None:
        queries = count_of(len(contents.queries), "query", "queries")
        pool = count_of(contents.pool, "pair to judge", "pairs to judge")
        return f"The collection has {documents}, {queries} and {pool}; no pair has a grade yet."
    grades = count_of(contents.grades(sets.scoring), "grade", "grades")
    queries = count_of(len(contents.qrels[sets.scoring]), "query", "queries")
    by = f"{grades} of {queries}, given by {giver(contents, sets)}"
    if scores is None:
        return f"The collection has {documents} and {by}; no system was scored."
    systems = count_of(len(scores.runs), "system was", "systems were")
    first, *others = scores.measures
    more = f" and {count_of(len(others), 'more measure', 'more measures')}" if others else ""
    over = f" over {documents}" if contents.documents else ""
    return f"{systems} scored by {first}{more}{over}, with {by}."


def giver(contents: CollectionContents, sets: ChosenSets) -> str:
    """Who gave the grades that score the systems: people, or a model, with the set's name."""
    name = sets.scoring or ""
    if name in contents.people or name in (sets.human, *sets.more_humans):
        return "people" if name == "human" else f"people ({name})"
    models = made_by(contents.collection, name).models
    model = models[-1] if models else name
    return f"the assessor {name}" + (f" ({model})" if model != name else "")


def _leading(contents: CollectionContents, scores: Report | None) -> str:
    if scores is None:
        lacks = "run" if not contents.runs else "grade"
        return f"There is no {lacks}, so that nothing is known of any system."
    sentences = " ".join(scores.sentences)
    best, measure = scores.ranked[0], scores.measures[0]
    low, high = best.intervals[measure]
    if len(scores.runs) == 1 or math.isnan(low):
        return sentences
    ends = f"{low:.3f} to {high:.3f} at 95 %"
    interval = f"over all queries like these the score of {best.name} is {ends}"
    return f"{sentences[:-1]}; {interval}.{_left_open(scores)}"


def _left_open(scores: Report) -> str:
    """Which differences that are told apart could be of the other sign, by unjudged documents."""
    apart = {c.run for c in scores.compared() if c.verdict in ("better", "worse")}
    measure = scores.measures[0]
    open_ = [
        bounds
        for bounds in scores.difference_bounds
        if bounds.measure == measure and bounds.run in apart and bounds.least < 0 < bounds.most
    ]
    if not open_:
        return ""
    names = open_[0].run if len(open_) == 1 else f"{len(open_)} others"
    differences = "the difference" if len(open_) == 1 else "the differences"
    between = f"between {open_[0].baseline} and {names}"
    return f" In the extreme, grades of unjudged documents might reverse {differences} {between}."


def _agreeing(
    contents: CollectionContents, sets: ChosenSets, agreement: AgreementWithPeople
) -> str:
    if agreement.main is not None:
        several = len(agreement.reports)
        which = f" It is one of {several} assessors compared." if several > 1 else ""
        return f"{summary(agreement.main)[0]}{which}"
    if sets.human is None:
        return _nobody(contents, sets)
    if not sets.assessors and contents.ungraded:
        return "The grades are people's; a model was asked, and no pair got a grade from it."
    if not sets.assessors:
        return "The grades are people's; no model has judged a pair."
    return "People and the assessor judged no pair in common: nobody knows whether they agree."


def _nobody(contents: CollectionContents, sets: ChosenSets) -> str:
    """That no qrels hold people's grades."""
    if contents.waiting:
        text = "People graded pairs on the page, and no qrels hold their grades"
        return f"{text}: nothing rests on them."
    if sets.scoring is not None:
        return "No person has judged a pair: how far these grades agree with people's is not known."
    whom = "No pair has a grade" if contents.ungraded else "Nobody has judged a pair"
    return f"{whom}, so that nothing is known of agreement with people."
