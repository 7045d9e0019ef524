"""`report`: what one collection says, as one page, or as Markdown for a pull request."""

from __future__ import annotations

from pathlib import Path

from labeler.collection.judged_set import judged_in
from labeler.collection.layout import AnyCollection, open_collection
from labeler.collection.user_files import Output
from labeler.collection_report.contents import (
    ReportOptions,
    choose_sets,
    contents_of,
)
from labeler.collection_report.figures import (
    agreement_with_people,
    reported_queries,
    scores_of_systems,
)
from labeler.collection_report.gathered import GatheredReport
from labeler.collection_report.page import fitting_page, summary_text
from labeler.judging.status import status
from labeler.report.page import Page
from labeler.report.private import Private

MARKDOWN = (".md", ".markdown")
"""How a file's name ends that holds the short form; any other holds the page."""


ENDINGS = ("", ".html", ".htm", *MARKDOWN)
"""How the names of files of reports end."""


class CollectionReport(GatheredReport):
    """What one collection says, gathered, as a page or as Markdown."""

    def page(self) -> Page:
        """The whole page, with as much of each query as two megabytes have room for."""
        return fitting_page(self)

    def summary(self) -> str:
        """Warnings, sentences, systems, differences and agreement, as Markdown for a comment."""
        return summary_text(self)

    def write(self, output: Output | Path | str) -> None:
        """Write the report to a file, whole or not at all, in the form that its suffix says."""
        to = Output.of(output, [self.contents.collection.folder])
        to.write(self.summary() if to.path.suffix.casefold() in MARKDOWN else self.page().html())


def report_of(collection: AnyCollection, options: ReportOptions | None = None) -> CollectionReport:
    """What a collection says, at whatever stage it is, gathered from the other functions' results.

    The scores are those of `evaluate`, the agreement that of `agree`, with the same seed. What is
    missing is said, with the command that makes it.

    >>> import labeler
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> _ = labeler.judge(collection, model=fake_model('{"grade": 2}'), name="first")
    >>> report = labeler.report_of(collection)
    >>> report.sentences[2]
    "No person has judged a pair: how far these grades agree with people's is not known."
    >>> report.page().html()[:15]
    '<!DOCTYPE html>'
    """
    how, opened = options or ReportOptions(), open_collection(collection)
    contents = contents_of(opened)
    sets = choose_sets(contents, how)
    scores = scores_of_systems(contents, sets.scoring, how)
    agreement = agreement_with_people(contents, sets, how)
    path = opened.judgements(sets.scoring or "")
    failures = judged_in(path).failures if sets.scoring and path.is_file() else {}
    return CollectionReport(
        contents,
        sets,
        how,
        scores,
        agreement,
        tuple(status(opened)),
        tuple(reported_queries(contents, sets, failures, scores, how)),
        Private(opened.folder),
    )
