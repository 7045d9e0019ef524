"""`labeler pool`: retrieve with BM25, dense vectors and their fusion, and pool what they find."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

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
from labeler.models.encoders import Encoding
from labeler.options import COUNT, option
from labeler.pools import expand as rounds
from labeler.pools.pool import DEPTH, PoolOptions, PoolResult, plan_pool, pool

MOST_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class RoundFlags:
    """Whose judgements a pool grows by, and who judges what a round added."""

    expand: str = option(
        "",
        "Add the neighbors of what these qrels of the collection call relevant.",
        metavar="QRELS",
        panel=rounds.EXPANDING,
    )
    prompt: str = option(
        "",
        "With --model or --assessor the pool is judged, too, round after round: by this prompt.",
        panel=rounds.EXPANDING,
    )
    max_rounds: int = option(
        MOST_ROUNDS, "The most rounds.", COUNT, panel=rounds.EXPANDING, rare=True
    )

    def is_judged(self, who: ModelFlags) -> bool:
        """Whether an assessor is named, who judges each round."""
        return bool(who.model or who.assessor or self.prompt)

    def until(self, expansion: rounds.Expansion) -> rounds.Rounds:
        """When rounds end."""
        return rounds.Rounds(
            until=expansion.until,
            most=self.max_rounds,
            rel=expansion.rel,
            neighbors=expansion.neighbors,
            max_pairs=expansion.max_pairs,
        )

    def check(self, options: PoolOptions, expansion: rounds.Expansion, who: ModelFlags) -> None:
        """`Misuse` where rounds are described and not asked for, or other pairs are asked for."""
        if self.expand:
            if options.qrels or options.only or options.size.beyond:
                problem = "it goes with runs alone, not with --qrels, --only or --beyond"
                raise Misuse(problem, parameter="expand")
            return
        usual = rounds.Expansion(max_pairs=expansion.max_pairs)
        names = ("neighbors", "until", "rel")
        given = [name for name in names if getattr(expansion, name) != getattr(usual, name)]
        given += ["max_rounds"] if self.max_rounds != MOST_ROUNDS else []
        given += ["model"] if self.is_judged(who) else []
        if given:
            raise Misuse("it says how --expand goes on, which is not given", parameter=given[0])


def command(
    folder: Folder,
    *,
    options: PoolOptions,
    growth: RoundFlags,
    expansion: rounds.Expansion,
    who: ModelFlags,
    flags: ShownFlags,
    output: OutputFlags,
) -> None:
    """Choose the pairs to judge: the first documents of every run.

    They are added to pool.jsonl. With --expand the pool grows by what is like its relevant
    documents; with --model or --assessor, too, each round is judged until one brings too few.
    """
    files = [path for path in map(Path, options.qrels) if path.exists()]  # others are its own
    to = output.made_from(open_collection(folder).folder, *options.runs, *files)
    growth.check(options, expansion, who)
    if growth.expand and growth.is_judged(who):
        judging = JudgeOptions(growth.prompt, name=growth.expand, limits=options.encoding.limits)
        _judge_rounds(
            _Rounds(folder, who.asking(judging), growth.until(expansion), options.encoding),
            flags,
            output,
        )
        return
    if flags.dry_run:
        plan = rounds.plan_expansion if growth.expand else plan_pool
        show_encoding_plan(plan(folder, options.encoding), output, to)
        return
    if growth.expand:
        more = replace(expansion, qrels=growth.expand)
        tops = rounds.NewRuns(options.runs, options.depth or DEPTH)
        result = rounds.expand(folder, more, tops, options.encoding, control_of(flags))
    else:
        result = pool(folder, replace(options, force=output.force), control=control_of(flags))
    show_outcome(result, _show, output, to)


class _Rounds(NamedTuple):
    """A collection whose pool grows round after round, who judges it, and when that ends."""

    folder: Path
    judging: JudgeOptions
    until: rounds.Rounds
    encoding: Encoding


def _judge_rounds(grown: _Rounds, flags: ShownFlags, output: OutputFlags) -> None:
    """Judge the pool and what each round adds, print what came of it, and end as judging does."""
    to = output.made_from(grown.folder)
    if flags.dry_run:
        plan = watched(flags, lambda watch: aplan_judging(grown.folder, grown.judging, watch))
        show_outcome(plan, show_judging_plan, output, to)
        note("that is the pool as it is; what rounds add to it is not known before")
        return
    result = watched(
        flags, lambda watch: rounds.aexpand_until(grown.folder, grown.judging, grown.until, watch)
    )
    show_outcome(result, _show_rounds, output, to)
    check_complete(result.judging)


def _show_rounds(grown: rounds.ExpandedJudging) -> None:
    """Print what the last judging left, each round, and why there is no other."""
    show_judging(grown.judging)
    for each in grown.rounds:
        say(str(each))
    say(grown.sentence())


def _show(result: PoolResult) -> None:
    note_pooled(result)
    for line in result.expansion.sentences() if result.expansion else ():
        say(line)
    if result.reached:
        what = "the pool reaches" if result.expansion is None else "the new runs are pooled to"
        note(f"{what} {result.reached}")
    if result.sample:
        note(f"{result.sample.drawn:,} of {result.sample.of:,} pairs beyond it drawn at random")
    judged = f"; qrels: {', '.join(result.qrels)}" if result.qrels else ""
    say(f"pool: {result.pool}; runs: {', '.join(result.runs) or 'none'}{judged}")


def note_pooled(result: PoolResult) -> None:
    """Say how many pairs the pool has, and how many of them are new."""
    note(f"pooled {_pairs_of_queries(result)}, {result.new:,} of them new")


def note_rehearsed_pool(result: PoolResult) -> None:
    """Say about how many pairs the pool would have."""
    note(f"a pool of about {_pairs_of_queries(result)}")


def _pairs_of_queries(result: PoolResult) -> str:
    pairs = count_of(result.pairs, "pair", "pairs")
    return f"{pairs} of {count_of(result.queries, 'query', 'queries')}"
