"""`labeler retrieve`: a run of your own search system, over HTTP or from a command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labeler.cli.model_options import DryRun, MaxCost, MaxTokens, Prices, Seconds, Tries
from labeler.cli.numbers import AT_ONCE, COUNT, number
from labeler.cli.options import MODEL, OUTPUT, Folder, OutputFlags
from labeler.cli.progress import control_of
from labeler.cli.reporting import show_encoding_plan, show_outcome
from labeler.cli.screen import caution, note, say
from labeler.cli.vector_options import VectorFlags, show_recall
from labeler.errors import Incomplete, Misuse
from labeler.messages import count_of
from labeler.models.encoder_options import EncoderOptions
from labeler.models.settings import Limits

if TYPE_CHECKING:
    from labeler.runs.asking import SearchEngine
    from labeler.runs.engines.templates import QueryEncoder
    from labeler.runs.retrieve_run import RetrieveResult

SYSTEM, ANSWER = "Your search system", "What it answers"
_NAMED = 5


def _path(text: str) -> Any:
    return Annotated[str | None, typer.Option(metavar="PATH", help=text, rich_help_panel=ANSWER)]


@dataclass(frozen=True, slots=True)
class SystemFlags:
    """What is asked, and how its answers are read."""

    url_template: Annotated[
        str,
        typer.Option(
            metavar="URL", help="The endpoint, with {query} and {depth}.", rich_help_panel=SYSTEM
        ),
    ] = ""
    preset: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="opensearch, elasticsearch, solr, vespa or qdrant.",
            rich_help_panel=SYSTEM,
        ),
    ] = ""
    body: Annotated[
        str,
        typer.Option(
            metavar="JSON", help="POST this, with {query} in its texts.", rich_help_panel=SYSTEM
        ),
    ] = ""
    header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VAR",
            help="A header, its value in a variable of the environment; repeatable.",
            rich_help_panel=SYSTEM,
        ),
    ] = None
    command: Annotated[
        str,
        typer.Option(
            metavar="LINE",
            help="A program that prints JSON or a TREC run; no shell reads it.",
            rich_help_panel=SYSTEM,
        ),
    ] = ""
    pass_env: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VAR", help="A variable that the program may see.", rich_help_panel=SYSTEM
        ),
    ] = None
    hits: _path("Where the list of hits stands, as hits.hits.") = None  # type: ignore[valid-type]
    hit_id: _path("Where a hit has its id.") = None  # type: ignore[valid-type]
    hit_score: _path("Where a hit has its score.") = None  # type: ignore[valid-type]

    def check_none(self, parameter: str, engine: str = "") -> None:
        """Raise `Misuse` where another system is described beside the one of a parameter."""
        if self.url_template or self.command or engine:
            others = "--url-template, --command" + (" or --engine" if engine else "")
            problem = f"two systems are described; leave this out, or {others}"
            raise Misuse(problem, parameter=parameter)

    def engine(self, encoder: Callable[[], QueryEncoder | None]) -> SearchEngine:
        """The system that was described; `encoder` makes the vectors that some are asked with."""
        if bool(self.url_template) == bool(self.command):
            problem = "name one system: --url-template for an endpoint, or --command for a program"
            raise Misuse(problem)
        paths = {"hits": self.hits, "hit_id": self.hit_id, "hit_score": self.hit_score}
        if self.command:
            from labeler.runs.engines.program import ProgramEngine

            program = ProgramEngine(self.command, **paths, pass_env=tuple(self.pass_env or ()))
            return replace(program, encoder=encoder()) if program.needs_vector else program
        from labeler.runs.engines.http_search import HttpEngine

        given = (self.url_template, self.preset, self.body, tuple(self.header or ()))
        described = HttpEngine(*given, **paths)
        return replace(described, encoder=encoder()) if described.needs_vector else described


def command(
    folder: Folder,
    *,
    name: Annotated[str, typer.Option("--as", help="The run's name.", rich_help_panel=OUTPUT)],
    system: SystemFlags,
    database: VectorFlags,
    match_id: Annotated[
        str,
        typer.Option(
            metavar="FIELD",
            help="The field of documents that holds its ids.",
            rich_help_panel=ANSWER,
        ),
    ] = "_id",
    drop_unknown: Annotated[
        bool,
        typer.Option(
            "--drop-unknown",
            help="Leave out documents that the corpus lacks.",
            rich_help_panel=ANSWER,
        ),
    ] = False,
    depth: Annotated[int, number(COUNT, help="Documents to ask for.")] = 100,
    engine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="In place of a system of yours: bm25 or dense.",
            rich_help_panel=SYSTEM,
        ),
    ] = "",
    fields: Annotated[
        str,
        typer.Option(
            metavar="FIELDS",
            help="What --engine indexes of documents, as title,text.",
            rich_help_panel=SYSTEM,
        ),
    ] = "title,text",
    tag: Annotated[str, typer.Option(help="The run's last column.", rich_help_panel=OUTPUT)] = "",
    concurrency: Annotated[
        int,
        number(AT_ONCE, help="Calls under way at once, at most.", rich_help_panel=MODEL),
    ] = 4,
    encoder: EncoderOptions,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    prices: Prices = None,
    timeout: Seconds = 30.0,
    tries: Tries = 4,
    dry_run: DryRun = False,
    output: OutputFlags,
) -> None:
    """Ask your own search system for every query, and keep its run.

    With --engine and --fields, a built-in engine over some fields of the documents instead. With
    --vectors, a database of vectors.
    """
    from labeler.collection.layout import open_collection
    from labeler.models.encoders import Encoding
    from labeler.runs.asking import AskingLimits
    from labeler.runs.retrieve_run import RetrieveOptions, retrieve_run
    from labeler.runs.vector_run import query_encoder

    to = output.made_from(open_collection(folder).folder)
    asking = AskingLimits(concurrency, timeout, tries)
    options = RetrieveOptions(depth, match_id, drop_unknown, tag, asking, output.force)
    spending = {"max_tokens": max_tokens, "max_cost": max_cost, "prices": prices}
    encoding = Encoding(encoder, Limits(**spending, timeout=timeout, tries=tries))
    if database.vectors:
        from labeler.runs.vector_run import plan_queries, vector_run

        system.check_none("vectors", engine)
        if dry_run:
            show_encoding_plan(plan_queries(folder, encoding), output, to)
            return
        search = database.described(encoding, system.hit_id or "")
        result = vector_run(folder, search, name, options, control_of())
    elif engine:
        from labeler.runs.retrieve_run import FieldEngine, field_run, plan_field_run

        database.check_none()
        system.check_none("engine")
        names = tuple(filter(None, map(str.strip, fields.split(","))))
        built_in = FieldEngine(engine, names, encoding)
        if dry_run:
            show_encoding_plan(plan_field_run(folder, built_in), output, to)
            return
        result = field_run(folder, built_in, name, options, control_of())
    else:
        database.check_none()
        if dry_run:
            raise Misuse("only what a built-in engine would take can be told", parameter="dry_run")
        engine_of_theirs = system.engine(lambda: query_encoder(folder, encoding, control_of()))
        result = retrieve_run(folder, engine_of_theirs, name, options, control_of())
    show_outcome(result, lambda done: _show(done, folder), output, to)
    if result.failures:
        raise Incomplete(_failed(result))


def _show(result: RetrieveResult, folder: Path) -> None:
    remembered = f", {result.remembered:,} of them kept from before" if result.remembered else ""
    queries = count_of(result.queries, "query", "queries")
    say(f"{result.answered:,} of {queries} answered{remembered}")
    say(f"{count_of(result.documents, 'document', 'documents')}; scores: {result.scores}")
    for query_id, problem in list(result.failures.items())[:_NAMED]:
        caution(f"query {query_id} has no answer: {problem}")
    show_recall(result.recall)
    note(f"wrote {result.run}; to pool it: labeler pool {folder} --run {result.run}")


def _failed(result: RetrieveResult) -> str:
    names = list(result.failures)
    more = ", …" if len(names) > _NAMED else ""
    which = ", ".join(names[:_NAMED]) + more
    queries = count_of(result.queries, "query", "queries")
    return f"no answer to {len(names):,} of {queries}: {which}; to go on, run it again"
