"""`labeler lab`: assessors put together, asked again, and watched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

from labeler.agreement.retest import Retest, retest_of
from labeler.cli.model_options import ASSESSOR_NAME, ModelFlags, ServerFlags, ShownFlags
from labeler.cli.options import Destination, Opened, argument
from labeler.cli.output import show, show_result
from labeler.cli.reporting import (
    asked,
    check_complete,
    show_judging,
    show_judging_plan,
    show_outcome,
)
from labeler.cli.screen import note, say
from labeler.collection.layout import open_collection
from labeler.errors import GateFailed, GateUndecided, Incomplete, Misuse
from labeler.evaluation.options import parse_limits
from labeler.judging.job import JudgeResult
from labeler.judging.judge import MOST_TIMES, JudgeOptions, ajudge
from labeler.lab.control import DRIFTED, FAILS, TOO_LITTLE, DriftCheck, DriftOptions, adrift
from labeler.lab.members import PanelOptions
from labeler.lab.panel import panel as panel_of_sets
from labeler.lab.probe import ProbeOptions, aprobe, check_gates
from labeler.lab.tune import TuneOptions, TunePlan, atune
from labeler.models.choose import declared_assessors, find_assessor
from labeler.options import Bounds, option


def control(
    collection: Opened,
    *,
    options: DriftOptions,
    who: ModelFlags,
    flags: ShownFlags,
    to: Destination,
) -> None:
    """Judge some graded pairs again: has the assessor drifted?

    Exit code 5 where it has, 6 where it takes more controls to tell, each on another day. Without a
    prompt that of the set is asked again.
    """
    how = replace(options, judging=who.asking(options.judging))
    check = asked(flags, partial(adrift, collection, options=how), show_judging_plan, to)
    show_result(check, to)
    check_steady(check)


def check_steady(check: DriftCheck) -> None:
    """`GateFailed` where the assessor has drifted or fails often, `GateUndecided` of too little."""
    advice = {
        DRIFTED: "judge new pairs under another name, or relabel all",
        FAILS: f"controls/{check.name}.{check.run.number}.jsonl says which failed, and how",
        TOO_LITTLE: "nothing is shown either way; run it again on other days",
    }
    if check.verdict in advice:
        error = GateUndecided if check.verdict == TOO_LITTLE else GateFailed
        raise error(f"{check.name}: {check.verdict}; {advice[check.verdict]}")


def repeat(
    collection: Opened,
    *,
    times: int = option(3, "Ask about each pair so often.", Bounds(2, MOST_TIMES)),
    options: JudgeOptions,
    who: ModelFlags,
    flags: ShownFlags,
    to: Destination,
) -> None:
    """Ask about each pair several times: how far do grades differ by chance?

    The first reply gives the grade; the others are kept beside it.
    """
    act = partial(ajudge, collection, who.asking(options), repeat=times)
    result = asked(flags, act, show_judging_plan, to)
    again = None if result.stopped else retest_of(collection, result.name)
    figures = {**result.as_json(), **({"retest": again.as_json()} if again else {})}
    show_outcome(figures, lambda _: _show_repeated(result, again), to)
    check_complete(result)


def _show_repeated(result: JudgeResult, again: Retest | None) -> None:
    show_judging(result)
    if again is not None:
        say()
        say("\n".join(again.sentences))


def panel(
    sources: Annotated[
        list[str],
        argument("A collection, and sets of its judgements to put together.", "COLL A B C..."),
    ],
    *,
    options: PanelOptions,
    people: str | None = option(
        None, "The collection's human qrels, by which members' errors are told.", metavar="NAME"
    ),
    name: str | None = option(None, "Keep the panel as this set.", metavar="NAME", flags="--as"),
    to: Destination,
) -> None:
    """Put assessors' grades together, and say how many judges that really is.

    A member without a grade of a pair is left out of it; too few members make a failure.
    """
    collection, *names = sources
    opened = open_collection(collection)
    result = panel_of_sets(opened, *names, people=people, name=name, options=options)
    show_result(result, to)
    if result.name is not None:
        sets = " ".join([result.name, *names])
        note(f"kept as {result.name}: labeler agree {collection} human {sets}")
    if failed := result.panel.failed:
        raise Incomplete(f"{failed:,} of {len(result.panel):,} pairs have no grade")


def tune(
    collection: Opened,
    *,
    prompts: tuple[str, ...] = option(
        (),
        "Prompts by name or file; commas between, or repeated. Default: each assessor's.",
        metavar="A,B",
    ),
    models: tuple[str, ...] = option(
        (),
        "Models as judge takes one, or declared assessors, each with every prompt.",
        metavar="M,N",
    ),
    options: TuneOptions,
    assessor: str = option("", ASSESSOR_NAME),
    server: ServerFlags,
    flags: ShownFlags,
    to: Destination,
) -> None:
    """Ask several prompts and models what people judged: which agrees best?

    The best is chosen on a part of the queries, and reported on those held out.
    The better half of each round is asked about twice as many queries.
    Replies are kept: judge asks for none of them again.
    """
    declared = declared_assessors()
    names = [*filter(None, [assessor]), *_listed(models, "models")]
    tuned = replace(
        options,
        prompts=_listed(prompts, "prompts"),
        models=tuple(find_assessor(n) if n in declared else n for n in names) or (None,),
        base_url=server.base_url,
    )
    result = asked(flags, partial(atune, collection, tuned), _show_tuning_plan, to)
    show_result(result, to)
    if result.stopped:
        raise result.stopped


def _listed(texts: Sequence[str], parameter: str) -> Sequence[str]:
    """The names that commas and repeated options name."""
    names = tuple(name.strip() for text in texts for name in text.split(",") if name.strip())
    if texts and not names:
        raise Misuse("expected names with commas between", parameter=parameter)
    return names


def _show_tuning_plan(plan: TunePlan) -> None:
    rounds = ", ".join(map(str, plan.queries_by_round))
    say(f"queries of each round: {rounds}; of each the better half goes on")
    show(plan.tables())
    note("at most: as if every one were asked about all pairs, with re-asks")


def probe(
    collection: Opened,
    *,
    options: ProbeOptions,
    require: tuple[str, ...] = option(
        (),
        "A gate, as raised:0.05: exit 5 where the share's interval lies above, 6 where not all of "
        "it lies below; repeatable.",
        panel="Gates",
    ),
    who: ModelFlags,
    flags: ShownFlags,
    to: Destination,
) -> None:
    """Say how often a document talks a model into a better grade.

    Replies are kept in the collection: the same command, run again, asks only for what is missing.
    """
    if options.judging.name is not None:
        raise Misuse("a probe keeps no judgements, which could have a name", parameter="name")
    limits = parse_limits(require, "raised:0.05")
    check_gates(options, [name for name, _ in limits])
    act = partial(aprobe, collection, replace(options, judging=who.asking(options.judging)))
    result = asked(flags, act, show_judging_plan, to)
    show_result(result, to)
    result.check(limits)
