"""`labeler pool` and `labeler retrieve`: runs of built-in and own systems, and what they find."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

from labeler.cli.model_options import ModelFlags, ShownFlags
from labeler.cli.options import Destination, Opened, Shown
from labeler.cli.reporting import (
    check_complete,
    control_of,
    show_judging,
    show_judging_plan,
    show_outcome,
    show_plan,
    watched,
)
from labeler.cli.screen import caution, note, say
from labeler.errors import Incomplete, Misuse
from labeler.files.paths import check_existing
from labeler.judging.judge import JudgeOptions, ajudge
from labeler.messages import count_of
from labeler.models.encoders import Encoding
from labeler.options import OUTPUT, REQUIRED, option
from labeler.pools.expand import EXPANDING, ExpandedJudging, Expansion, aexpand_until
from labeler.pools.pool import PoolOptions, PoolResult, pool
from labeler.runs.engines.answers import SYSTEM
from labeler.runs.engines.http_search import HttpEngine
from labeler.runs.engines.in_python import PythonEngine
from labeler.runs.engines.program import ProgramEngine
from labeler.runs.retrieve import plan_encoder
from labeler.runs.retrieve_run import (
    BuiltIn,
    RetrieveOptions,
    RetrieveResult,
    built_in_run,
    retrieve_run,
)
from labeler.text.bm25 import Bm25Settings


@dataclass(frozen=True, slots=True)
class RoundFlags:
    """Whose judgements a pool grows by, and by which prompt they are made."""

    expand: str = option(
        "",
        "Judge the pool as this set, and round after round what is like its relevant documents.",
        metavar="NAME",
        panel=EXPANDING,
    )
    prompt: str = option("", "The prompt that judges each round.", panel=EXPANDING)

    def check(self, options: PoolOptions, expansion: Expansion, who: ModelFlags) -> None:
        """`Misuse` where rounds are described and not asked for, or other pairs are asked for."""
        if self.expand:
            if any((options.runs, options.only, options.depth)) or options.max_pairs:
                raise Misuse(
                    "it goes on from the pool as it is; pool runs before", parameter="expand"
                )
            return
        usual = Expansion()
        names = ("neighbors", "until", "rel", "max_rounds")
        given = [name for name in names if getattr(expansion, name) != getattr(usual, name)]
        given += ["model"] if who.model or who.assessor or self.prompt else []
        if given:
            raise Misuse("it says how --expand goes on, which is not given", parameter=given[0])


def command(
    collection: Opened,
    *,
    options: PoolOptions,
    growth: RoundFlags,
    expansion: Expansion,
    who: ModelFlags,
    flags: ShownFlags,
    to: Destination,
) -> None:
    """Choose the pairs to judge: the first documents of every run.

    They are added to pool.jsonl. With --expand a model judges the pool, and round after round what
    is like its relevant documents, until a round brings too few.
    """
    check_existing(options.runs)
    growth.check(options, expansion, who)
    if growth.expand:
        judging = JudgeOptions(growth.prompt, name=growth.expand, limits=options.encoding.limits)
        asked = who.asking(judging)
        if flags.dry_run:
            note("of the pool as it is: what rounds add to it is not known before")
            show_plan(flags, partial(ajudge, collection, asked), show_judging_plan, to)
        grown = watched(
            flags, partial(aexpand_until, collection, asked, expansion, encoding=options.encoding)
        )
        show_outcome(grown, _show_rounds, to)
        check_complete(grown.judging)
    elif flags.dry_run:
        plan = plan_encoder(collection, options.encoding)
        if plan is None:
            note("nothing is asked: the encoder is on this machine")
        else:
            show_outcome(plan, lambda shown: say(str(shown)), to)
    else:
        pooled = pool(collection, replace(options, force=to.force), control=control_of(flags))
        show_outcome(pooled, _show, to)


def _show_rounds(grown: ExpandedJudging) -> None:
    """Print what the last judging left, each round, and why there is no other."""
    show_judging(grown.judging)
    for sentence in grown.sentences:
        say(sentence)


def _show(result: PoolResult) -> None:
    note_pooled(result)
    if result.reached:
        note(f"the pool reaches depth {result.reached} for every query")
    say(f"pool: {result.pool}; runs: {', '.join(result.runs) or 'none'}")


def note_pooled(result: PoolResult) -> None:
    """Say how many pairs the pool has, and how many of them are new."""
    pairs = count_of(result.pairs, "pair")
    note(f"pooled {pairs} of {count_of(result.queries, 'query')}, {result.new:,} of them new")


_NAMED = 5


def retrieve(
    collection: Opened,
    *,
    name: str = option(REQUIRED, "The run's name.", flags="--as", panel=OUTPUT),
    server: HttpEngine,
    program: ProgramEngine,
    own: PythonEngine,
    options: RetrieveOptions,
    engine: str = option(
        "", "In place of a system of yours: bm25 or dense.", metavar="NAME", panel=SYSTEM
    ),
    encoding: Annotated[Encoding, Shown(["encoder"])],
    bm25: Bm25Settings,
    to: Destination,
) -> None:
    """Ask your own search system for every query, and keep its run.

    With --engine, a built-in engine ranks the documents instead.
    """
    options, control = replace(options, force=to.force), control_of()
    if sum(map(bool, (engine, server.url_template, program.command, own.python))) != 1:
        raise Misuse(
            "name one system: --url-template for an endpoint, --command for a program, "
            "--python for a function or a retriever, or --engine"
        )
    if engine:
        result = built_in_run(collection, BuiltIn(engine, encoding, bm25), name, options, control)
    else:
        system = own if own.python else program if program.command else server
        result = retrieve_run(collection, system, name, options, control)
    show_outcome(result, lambda done: _show_retrieved(done, collection.folder), to)
    if result.failures:
        raise Incomplete(_failed(result))


def _show_retrieved(result: RetrieveResult, folder: Path) -> None:
    say(f"{result.answered:,} of {count_of(result.queries, 'query')} answered")
    say(f"{count_of(result.documents, 'document')}; scores: {result.scores}")
    for query_id, problem in list(result.failures.items())[:_NAMED]:
        caution(f"query {query_id} has no answer: {problem}")
    note(f"wrote {result.run}; to pool it: labeler pool {folder} --run {result.run}")


def _failed(result: RetrieveResult) -> str:
    names = list(result.failures)
    which = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    queries = count_of(result.queries, "query")
    return f"no answer to {len(names):,} of {queries}: {which}; run it again to ask for all"
