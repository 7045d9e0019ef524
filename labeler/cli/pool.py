"""`labeler pool`: retrieve with BM25, dense vectors and their fusion, and pool what they find."""

from __future__ import annotations

from dataclasses import dataclass, replace

from labeler.cli.model_options import ModelFlags, ShownFlags
from labeler.cli.options import Folder, OutputFlags
from labeler.cli.progress import control_of, watched
from labeler.cli.reporting import (
    check_complete,
    show_encoding_plan,
    show_judging,
    show_judging_plan,
    show_outcome,
)
from labeler.cli.screen import note, say
from labeler.collection.layout import open_collection
from labeler.errors import Misuse
from labeler.judging.judge import JudgeOptions, aplan_judging
from labeler.messages import count_of
from labeler.options import option
from labeler.pools.expand import EXPANDING, ExpandedJudging, Expansion, aexpand_until
from labeler.pools.pool import PoolOptions, PoolResult, plan_pool, pool


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
            others = (options.runs, options.only, options.depth)
            if any(others) or options.size.beyond or options.size.max_pairs:
                problem = "it goes on from the pool as it is; pool runs and samples before"
                raise Misuse(problem, parameter="expand")
            return
        usual = Expansion()
        names = ("neighbors", "until", "rel", "max_rounds")
        given = [name for name in names if getattr(expansion, name) != getattr(usual, name)]
        given += ["model"] if who.model or who.assessor or self.prompt else []
        if given:
            raise Misuse("it says how --expand goes on, which is not given", parameter=given[0])


def command(
    folder: Folder,
    *,
    options: PoolOptions,
    growth: RoundFlags,
    expansion: Expansion,
    who: ModelFlags,
    flags: ShownFlags,
    output: OutputFlags,
) -> None:
    """Choose the pairs to judge: the first documents of every run.

    They are added to pool.jsonl. With --expand a model judges the pool, and round after round what
    is like its relevant documents, until a round brings too few.
    """
    to = output.made_from(open_collection(folder).folder, *options.runs)
    growth.check(options, expansion, who)
    if growth.expand:
        judging = JudgeOptions(growth.prompt, name=growth.expand, limits=options.encoding.limits)
        asked = who.asking(judging)
        if flags.dry_run:
            plan = watched(flags, lambda watch: aplan_judging(folder, asked, watch))
            show_outcome(plan, show_judging_plan, output, to)
            note("that is the pool as it is; what rounds add to it is not known before")
            return
        grown = watched(
            flags, lambda watch: aexpand_until(folder, asked, expansion, watch, options.encoding)
        )
        show_outcome(grown, _show_rounds, output, to)
        check_complete(grown.judging)
    elif flags.dry_run:
        show_encoding_plan(plan_pool(folder, options.encoding), output, to)
    else:
        result = pool(folder, replace(options, force=output.force), control=control_of(flags))
        show_outcome(result, _show, output, to)


def _show_rounds(grown: ExpandedJudging) -> None:
    """Print what the last judging left, each round, and why there is no other."""
    show_judging(grown.judging)
    for sentence in grown.sentences:
        say(sentence)


def _show(result: PoolResult) -> None:
    note_pooled(result)
    if result.reached:
        note(f"the pool reaches depth {result.reached} for every query")
    if result.beyond:
        note(f"{result.beyond.drawn:,} of {result.beyond.of:,} pairs beyond it drawn at random")
    say(f"pool: {result.pool}; runs: {', '.join(result.runs) or 'none'}")


def note_pooled(result: PoolResult) -> None:
    """Say how many pairs the pool has, and how many of them are new."""
    pairs = count_of(result.pairs, "pair", "pairs")
    queries = count_of(result.queries, "query", "queries")
    note(f"pooled {pairs} of {queries}, {result.new:,} of them new")
