"""`labeler lab`: assessors put together, asked again, and watched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import typer

from labeler.agreement.retest import Retest, retest_of
from labeler.cli.model_options import ModelFlags, ServerFlags, ShownFlags
from labeler.cli.options import Folder, OutputFlags
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
from labeler.evaluation.gates import parse_limits
from labeler.judging.job import JudgeResult
from labeler.judging.judge import MOST_TIMES, JudgeOptions, ajudge
from labeler.lab.control import DRIFTED, FAILS, TOO_LITTLE, DriftCheck, DriftOptions, adrift
from labeler.lab.members import PANEL, PanelOptions
from labeler.lab.panel import (
    PanelPlan,
    ajudge_panel,
    members_named,
)
from labeler.lab.panel import panel as panel_of_sets
from labeler.lab.probe import ProbeOptions, aprobe, check_gates
from labeler.lab.tune import TuneOptions, TunePlan, atune
from labeler.models.choose import declared_assessors, model_in
from labeler.models.settings import MODEL, AnyModel
from labeler.options import Bounds, option
from labeler.report.render import render


def control(
    folder: Folder,
    *,
    options: DriftOptions,
    who: ModelFlags,
    flags: ShownFlags,
    output: OutputFlags,
) -> None:
    """Judge some graded pairs again: has the assessor drifted?

    Exit code 5 where it has, 6 where it takes more controls to tell, each on another day. Without a
    prompt that of the set is asked again.
    """
    collection, judging = open_collection(folder), who.asking(options.judging)
    to = output.made_from(collection.folder)
    act = partial(adrift, collection, options=replace(options, judging=judging))
    check = asked(flags, act, show_judging_plan, to)
    if check is not None:
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


@dataclass(frozen=True)
class _Repeated:
    """What judging gave, and how far the assessor agrees with itself; None where it stopped."""

    result: JudgeResult
    again: Retest | None

    def as_json(self) -> dict[str, Any]:
        retest = {} if self.again is None else {"retest": self.again.as_json()}
        return {**self.result.as_json(), **retest}


def repeat(
    folder: Folder,
    *,
    times: int = option(3, "Ask about each pair so often.", Bounds(2, MOST_TIMES)),
    options: JudgeOptions,
    who: ModelFlags,
    flags: ShownFlags,
    output: OutputFlags,
) -> None:
    """Ask about each pair several times: how far do grades differ by chance?

    The first reply gives the grade; the others are kept beside it.
    """
    collection = open_collection(folder)
    to = output.made_from(collection.folder)
    result = asked(
        flags, partial(ajudge, collection, who.asking(options), repeat=times), show_judging_plan, to
    )
    if result is None:
        return
    again = None if result.stopped else retest_of(collection, result.name)
    show_outcome(_Repeated(result, again), _show_repeated, to)
    check_complete(result)


def _show_repeated(repeated: _Repeated) -> None:
    show_judging(repeated.result)
    if repeated.again is None:
        return
    say()
    for sentence in repeated.again.sentences:
        say(sentence)
    say()
    say(render(repeated.again.tables()[0]).rstrip())


def panel(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="COLL A B C...",
            help="A collection, and sets of its judgements to put together.",
        ),
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
    output: OutputFlags,
) -> None:
    """Put assessors' grades together, and say how many judges that really is.

    A member without a grade of a pair is left out of it; too few members make a failure.
    With a name the panel is kept as a set of the collection.
    """
    collection, *names = sources
    opened, name = open_collection(collection), options.name
    to = output.made_from(opened.folder)
    if members:
        if names or people:
            raise Misuse(
                "members are asked about one collection, and stand beside its own human qrels",
                parameter="members",
            )
        named = members_named(members, who.asking(options))
        act = partial(ajudge_panel, opened, named, name=name, options=rules)
        judged = asked(flags, act, _show_panel_plan, to)
        if judged is None:
            return
        result = judged
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


@dataclass(frozen=True, slots=True)
class ModelsFlags(ServerFlags):
    """Where models are asked, and who is beside them: an assessor that somebody declared."""

    assessor: str = option(
        "", "An assessor declared in assessors/NAME.toml.", metavar="NAME", panel=MODEL
    )


def tune(
    folder: Folder,
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
    server: ModelsFlags,
    flags: ShownFlags,
    output: OutputFlags,
) -> None:
    """Ask several prompts and models what people judged: which agrees best?

    The best is chosen on a part of the queries, and reported on those held out.
    The better half of each round is asked about twice as many queries.
    Replies are kept: judge asks for none of them again.
    """
    collection = open_collection(folder)
    to = output.made_from(collection.folder)
    tuned = replace(
        options,
        prompts=_listed(prompts, "prompts"),
        models=_models(_listed(models, "models"), server.assessor),
        base_url=server.base_url,
    )
    result = asked(flags, partial(atune, collection, tuned), _show_tuning_plan, to)
    if result is None:
        return
    show_result(result, to)
    if result.stopped:
        raise result.stopped


def _models(names: Sequence[str], assessor: str) -> tuple[AnyModel | None, ...]:
    """The models that are named; a name under which an assessor is declared means that one."""
    declared = declared_assessors()
    listed = (assessor, *names) if assessor or not names else names
    return tuple(model_in(None, None, n) if n in declared else n or None for n in listed)


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
    folder: Folder,
    *,
    options: ProbeOptions,
    require: tuple[str, ...] = option(
        (), "A gate, as raised:0.05: exit 5 where the share lies above; repeatable.", panel="Gates"
    ),
    who: ModelFlags,
    flags: ShownFlags,
    output: OutputFlags,
) -> None:
    """Say how often a document talks a model into a better grade.

    Replies are kept in the collection: the same command, run again, asks only for what is missing.
    """
    if options.judging.name is not None:
        raise Misuse("a probe keeps no judgements, which could have a name", parameter="name")
    limits = parse_limits(require, "raised:0.05")
    collection, judging = open_collection(folder), who.asking(options.judging)
    to = output.made_from(collection.folder)
    check_gates(options, [name for name, _ in limits])
    result = asked(
        flags, partial(aprobe, collection, replace(options, judging=judging)), show_judging_plan, to
    )
    if result is not None:
        show_result(result, to)
        result.check(limits)
