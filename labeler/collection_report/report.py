"""`report`: what one collection says, as one page, as Markdown for a pull request, or as JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from labeler.collection.layout import Collection
from labeler.collection.user_files import Output
from labeler.collection_report.compared import ReportComparison, compared_reports
from labeler.collection_report.gathered import GatheredReport, gathered
from labeler.collection_report.options import ReportOptions
from labeler.collection_report.shown.compared import comparison_page, comparison_summary
from labeler.collection_report.shown.page import fitting_page, summary_page
from labeler.files.atomic import replacing
from labeler.report.finding import Finding
from labeler.report.neutral import json_text
from labeler.report.page import Page
from labeler.report.result import notebook_html

PageForm = Literal["html", "markdown", "json"]
_BY_SUFFIX: dict[str, PageForm] = {".md": "markdown", ".markdown": "markdown", ".json": "json"}


def page_form_of(path: Path) -> PageForm:
    """The form that a file's suffix says: Markdown, JSON, and HTML for all others."""
    return _BY_SUFFIX.get(path.suffix.casefold(), "html")


class WrittenReport(ABC):
    """What is written as a page, as Markdown for a pull request, or as JSON."""

    @abstractmethod
    def page(self) -> Page:
        """The whole page."""

    @abstractmethod
    def summary(self) -> Page:
        """The short form for a pull request."""

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """The figures by name."""

    @property
    @abstractmethod
    def folders(self) -> tuple[Path, ...]:
        """The folders of the collections that the report is of."""

    def text(self, form: PageForm) -> str:
        """The report in a form: the page as HTML, the summary as Markdown, the figures as JSON."""
        if form == "json":
            return json_text(self.as_json(), 1) + "\n"
        return self.page().html() if form == "html" else self.summary().markdown()

    def write(self, output: Output | Path | str, form: PageForm | None = None) -> None:
        """Write the report to a file, whole or not at all, in the form that its suffix says."""
        to = Output.of(output, self.folders)
        text = self.text(form or page_form_of(to.path))
        with to.writing(), replacing(to.path) as out:
            out.write(text)


@dataclass(frozen=True, eq=False, repr=False)
class CollectionReport(WrittenReport):
    """What one collection says: warnings, systems, agreement, grades, costs, queries, provenance.

    `gathered` holds the results of `evaluate`, `agree` and `status` on which it rests.
    """

    gathered: GatheredReport

    @property
    def sentences(self) -> tuple[str, str, str]:
        """What was measured, how sure it is, and how far the assessor agrees with people."""
        return self.gathered.sentences

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What a reader of the figures should know, warnings first."""
        return self.gathered.findings

    def page(self) -> Page:
        """The whole page, with as much of each query as two megabytes have room for."""
        return fitting_page(self.gathered)

    def summary(self) -> Page:
        """Warnings, three sentences, systems, differences and agreement, for a pull request."""
        return summary_page(self.gathered)

    def as_json(self) -> dict[str, Any]:
        """The figures by name, as the commands that give them say them."""
        figures: dict[str, Any] = self.gathered.private.of_json(self.gathered.as_json())
        return figures

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folder of the collection."""
        return (self.gathered.contents.collection.folder,)

    def __repr__(self) -> str:
        held = self.gathered.contents
        counts = f"queries={len(held.queries)}, runs={len(held.runs)}, qrels={len(held.qrels)}"
        return f"CollectionReport({held.name!r}, {counts})"

    def _repr_html_(self) -> str:
        sentences = [Finding(sentence, level="note") for sentence in self.sentences]
        scores = self.gathered.scores
        tables = [] if scores is None else scores.tables()[:2]
        return notebook_html(tables, [*self.findings, *sentences])


def report_of(
    collection: Collection | Path | str, options: ReportOptions | None = None
) -> CollectionReport:
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
    return CollectionReport(gathered(collection, options))


@dataclass(frozen=True, eq=False, repr=False)
class ComparedReports(WrittenReport):
    """What changed between two sets of judgements of a collection, or between two collections."""

    compared: ReportComparison

    @property
    def sentences(self) -> tuple[str, ...]:
        """How much moved, which side is closer to people, and whether systems change places."""
        return self.compared.sentences

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What a reader of the figures should know, warnings first."""
        return self.compared.findings

    def page(self) -> Page:
        """The whole page."""
        return comparison_page(self.compared)

    def summary(self) -> Page:
        """Warnings, sentences and the systems, for a pull request."""
        return comparison_summary(self.compared)

    def as_json(self) -> dict[str, Any]:
        """What changed, by name."""
        return self.compared.as_json()

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders of the collections."""
        sides = self.compared.before, self.compared.after
        return tuple(dict.fromkeys(side.contents.collection.folder for side in sides))

    def __repr__(self) -> str:
        return f"ComparedReports({self.compared.before.label!r}, {self.compared.after.label!r})"


def compared_report_of(
    first: Collection | Path | str,
    second: Collection | Path | str,
    collection: Collection | Path | str | None = None,
    options: ReportOptions | None = None,
) -> ComparedReports:
    """What changed from one set of judgements of a collection to another, or between collections.

    With a `collection`, `first` and `second` are names of sets in it; without one they are two
    collections, such as one as it was and as it is.

    >>> import labeler
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> for grade in (1, 2):
    ...     model = fake_model(f'{{"grade": {grade}}}', f"model{grade}")
    ...     _ = labeler.judge(collection, model=model, name=f"set{grade}")
    >>> report = labeler.compared_report_of("set1", "set2", collection)
    >>> report.sentences[0][:65]
    'set2 gives another grade than set1 to 4 of the 4 pairs that both '
    """
    return ComparedReports(compared_reports(first, second, collection, options))
