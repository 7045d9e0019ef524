"""`labeler retrieve`: a run of your own search system, over HTTP or from a command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from labeler.cli.model_options import DRY_RUN
from labeler.cli.options import Folder, OutputFlags, Shown
from labeler.cli.progress import control_of
from labeler.cli.reporting import show_encoding_plan, show_outcome
from labeler.cli.screen import caution, note, say
from labeler.collection.layout import open_collection
from labeler.errors import Incomplete, Misuse
from labeler.messages import count_of
from labeler.models.encoders import Encoding
from labeler.options import OUTPUT, REQUIRED, option
from labeler.runs.engines.answers import SYSTEM
from labeler.runs.engines.http_search import HttpEngine
from labeler.runs.engines.program import ProgramEngine
from labeler.runs.retrieve_run import (
    BuiltIn,
    RetrieveOptions,
    RetrieveResult,
    built_in_run,
    plan_built_in,
    retrieve_run,
)

_NAMED = 5


def command(
    folder: Folder,
    *,
    name: str = option(REQUIRED, "The run's name.", flags="--as", panel=OUTPUT),
    server: HttpEngine,
    program: ProgramEngine,
    options: RetrieveOptions,
    engine: str = option(
        "", "In place of a system of yours: bm25 or dense.", metavar="NAME", panel=SYSTEM
    ),
    encoding: Annotated[Encoding, Shown(["encoder"])],
    dry_run: bool = option(False, DRY_RUN),
    output: OutputFlags,
) -> None:
    """Ask your own search system for every query, and keep its run.

    With --engine, a built-in engine ranks the documents instead.
    """
    to = output.made_from(open_collection(folder).folder)
    options = replace(options, force=output.force)
    if engine:
        if server.url_template or program.command:
            problem = "two systems are described; leave this out, or --url-template, --command"
            raise Misuse(problem, parameter="engine")
        built_in = BuiltIn(engine, encoding)
        if dry_run:
            show_encoding_plan(plan_built_in(folder, built_in), output, to)
            return
        result = built_in_run(folder, built_in, name, options, control_of())
    else:
        if dry_run:
            raise Misuse("only what a built-in engine would take can be told", parameter="dry_run")
        result = retrieve_run(folder, _described(server, program), name, options, control_of())
    show_outcome(result, lambda done: _show(done, folder), output, to)
    if result.failures:
        raise Incomplete(_failed(result))


def _described(server: HttpEngine, program: ProgramEngine) -> HttpEngine | ProgramEngine:
    """The system that was described."""
    if bool(server.url_template) == bool(program.command):
        problem = "name one system: --url-template for an endpoint, or --command for a program"
        raise Misuse(problem)
    return program if program.command else server


def _show(result: RetrieveResult, folder: Path) -> None:
    queries = count_of(result.queries, "query", "queries")
    say(f"{result.answered:,} of {queries} answered")
    say(f"{count_of(result.documents, 'document', 'documents')}; scores: {result.scores}")
    for query_id, problem in list(result.failures.items())[:_NAMED]:
        caution(f"query {query_id} has no answer: {problem}")
    note(f"wrote {result.run}; to pool it: labeler pool {folder} --run {result.run}")


def _failed(result: RetrieveResult) -> str:
    names = list(result.failures)
    more = ", …" if len(names) > _NAMED else ""
    which = ", ".join(names[:_NAMED]) + more
    queries = count_of(result.queries, "query", "queries")
    return f"no answer to {len(names):,} of {queries}: {which}; run it again to ask for all"
