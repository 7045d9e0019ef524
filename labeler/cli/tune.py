"""`labeler lab tune`: which of many prompts and models agrees best with people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from labeler.cli import model_options, options
from labeler.cli.output import draw, said_to, show, warn
from labeler.cli.progress import control_of
from labeler.cli.reporting import show_outcome
from labeler.cli.scoring import PLOT
from labeler.cli.screen import note, say
from labeler.cli.signals import run_until_stopped
from labeler.errors import Misuse
from labeler.models.settings import Limits
from labeler.options import GRADE, SEED, SHARE, option

if TYPE_CHECKING:
    from labeler.collection.user_files import Output
    from labeler.lab.tune.standing import TuneResult
    from labeler.lab.tune.tune import TunePlan
    from labeler.models.settings import AnyModel

CHOICE, GRADES = "How the best is chosen", "Reading grades"


def command(
    context: typer.Context,
    folder: options.Folder,
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
    base_url: str | None = option(None, model_options.BASE_URL),
    people: str = option("human", "The collection's human qrels.", metavar="NAME"),
    statistic: str = option(
        "kappa", "What the best is best by.", flags="-s --statistic", panel=CHOICE
    ),
    held_out: float = option(
        0.5,
        "The share of queries that nobody is chosen by, and the best is reported on.",
        SHARE,
        panel=CHOICE,
    ),
    everybody: bool = option(
        False, "Ask all about all pairs: no halving.", flags="--all", panel=CHOICE
    ),
    seed: int = option(0, "Seed of the split and of intervals.", SEED, panel=CHOICE),
    maps: tuple[str, ...] = option(
        (), "Rename grades, as assessor:1=3 or human:1=0,2=1.", flags="--map", panel=GRADES
    ),
    cut: int | None = option(
        None, "Compare only whether a grade is at least this one.", GRADE, panel=GRADES
    ),
    limits: Limits,
    flags: model_options.RunFlags,
    picture: Path | None = option(None, PLOT),
    output: options.OutputFlags,
) -> None:
    """Ask several prompts and models about pairs that people judged: which agrees best?

    The best is chosen on a part of the queries, and reported on those held out.
    The better half of each round is asked about twice as many queries.
    Replies are kept: judge asks for none of them again.
    """
    from labeler.agreement.align import Rules, parse_maps
    from labeler.collection.layout import open_collection
    from labeler.lab.tune.tune import TuneOptions, aplan_tuning, atune

    collection = open_collection(folder)
    to = output.made_from(collection.folder)
    drawing = output.picture(picture, collection.folder)
    asked = TuneOptions(
        _listed(prompts, "prompts") if prompts else (),
        _models(models, flags.assessor),
        base_url,
        people,
        statistic,
        held_out,
        not everybody,
        seed,
        rules=Rules(cut=cut),
        maps=parse_maps(maps or ()),
        concurrency=flags.concurrency,
        retry_failed=flags.retry_failed,
        redact=flags.redact,
        limits=limits,
    )
    control = control_of(flags)
    if flags.dry_run:
        plan = run_until_stopped(
            lambda stop: aplan_tuning(collection, asked, control.with_stop(stop))
        )
        show_outcome(plan, _show_plan, output, to)
        return
    result = run_until_stopped(lambda stop: atune(collection, asked, control.with_stop(stop)))
    _show(context, result, output, to)
    if drawing is not None and result.standings:
        from labeler.lab.tune.plot import tuning_drawing

        draw(drawing, [tuning_drawing(result)])
    if result.stopped:
        raise result.stopped


def _models(names: list[str] | None, assessor: str) -> tuple[AnyModel | None, ...]:
    """The models that are named; a name under which an assessor is declared means that one."""
    from labeler.models.choose import declared_assessors, model_in, project_file

    declared = declared_assessors(project=project_file())
    listed = _listed(names, "models") if names else ()
    if assessor or not listed:
        listed = (assessor, *listed)
    return tuple(model_in(None, None, n) if n in declared else n or None for n in listed)


def _listed(texts: list[str], parameter: str) -> tuple[str, ...]:
    """The names that commas and repeated options name."""
    names = tuple(name.strip() for text in texts for name in text.split(",") if name.strip())
    if not names:
        raise Misuse("expected names with commas between", parameter=parameter)
    return names


def _show_plan(plan: TunePlan) -> None:
    rounds = ", ".join(map(str, plan.sizes))
    say(f"queries of each round: {rounds}; of each the better half goes on")
    show([plan.table()], "table")
    note("at most: as if every one were asked about all pairs, with re-asks")


def _show(
    context: typer.Context, result: TuneResult, output: options.OutputFlags, to: Output | None
) -> None:
    from labeler.lab.tune.tune import sentences_of

    if output.format == "json":
        show_outcome(result, lambda _result: None, output, to)
    elif output.format == "table":
        with said_to(to):
            show(["\n".join(sentences_of(result)), result.table(), result.cost_table()], "table")
            say()
            warn(context, result.findings)
    else:
        show([result.table(), result.cost_table()], output.format, to)
