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
    Beside,
    asked,
    check_complete,
    show_judging,
    show_judging_plan,
    show_outcome,
)
from labeler.cli.screen import note, say
from labeler.collection.layout import open_collection
from labeler.errors import GateFailed, Incomplete, Misuse
from labeler.evaluation.gates import parse_limits
from labeler.judging.job import JudgeResult
from labeler.judging.judge import MOST_TIMES, JudgeOptions, ajudge
from labeler.lab.control import DriftCheck, DriftOptions, adrift
from labeler.lab.members import PANEL, PanelOptions
from labeler.lab.panel import (
    PanelPlan,
    ajudge_panel,
    members_named,
)
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
    """Judge some graded pairs again, each twice: has the assessor drifted?

    Exit code 5 where it has. Without a prompt that of the set is asked again.
    """
    how = replace(options, judging=who.asking(options.judging))
    check = asked(flags, partial(adrift, collection, options=how), show_judging_plan, to)
    show_result(check, to)
    check_steady(check)


def check_steady(check: DriftCheck) -> None:
    """`GateFailed` where the assessor has drifted, fails often, or too few pairs compare."""
    if check.has_passed:
        return
    advice = "judge new pairs under another name, or relabel all"
    if check.is_undecided:
        advice = "nothing is shown either way; run it again, or with more pairs"
    elif not check.has_drifted:
        advice = f"controls/{check.name}.{check.run.number}.jsonl says which failed, and how"
    raise GateFailed(f"{check.name}: {check.verdict}; {advice}")


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
    whole = Beside(result, {"retest": again})
    show_outcome(whole, lambda _: _show_repeated(result, again), to)
    check_complete(result)


def _show_repeated(result: JudgeResult, again: Retest | None) -> None:
    show_judging(result)
    if again is not None:
        say()
        show(["\n".join(again.sentences), again.tables()[0]])


def panel(
    sources: Annotated[
        list[str],
        argument("A collection, and sets of its judgements to put together.", "COLL A B C..."),
    ],
    *,
    members: str = option(
        "",
        "Ask these first, as basic,four-grades:gpt-4.1,:qwen3 (PROMPT, PROMPT:MODEL, :MODEL), "
        "each kept as a set of the collection.",
        metavar="MEMBERS",
        panel=PANEL,
    ),
    rules: PanelOptions,
    people: str | None = option(
        None, "The collection's human qrels: how far do panel and members agree?", metavar="NAME"
    ),
    options: JudgeOptions,
    who: ModelFlags,
    flags: ShownFlags,
    to: Destination,
) -> None:
    """Put assessors' grades together, and say how many judges that really is.

    A member without a grade of a pair is left out of it; too few members make a failure.
    With a name the panel is kept as a set of the collection.
    """
    collection, *names = sources
    opened, name = open_collection(collection), options.name
    if members:
        if names or people:
            raise Misuse(
                "members are asked about one collection, and stand beside its own human qrels",
                parameter="members",
            )
        named = members_named(members, who.asking(options))
        act = partial(ajudge_panel, opened, named, name=name, options=rules)
        result = asked(flags, act, _show_panel_plan, to)
    else:
        result = panel_of_sets(opened, *names, people=people, name=name, options=rules)
    show_result(result, to)
    if result.name is not None:
        note(f"kept as {result.name}: labeler agree {collection} human {result.name}")
    if failed := result.panel.failed:
        problem = f"{failed:,} of {len(result.panel):,} pairs have no grade"
        raise Incomplete(problem, again={"retry_failed": True} if members else None)


def _show_panel_plan(plan: PanelPlan) -> None:
    """Print what each member's judging would take."""
    for number_of, member in enumerate(plan.members, start=1):
        say(f"== member {number_of}")
        show_judging_plan(member)
        say()
    say(f"calls of all members: {plan.calls:,}")


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
        (), "A gate, as raised:0.05: exit 5 where the share lies above; repeatable.", panel="Gates"
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
