"""`labeler lab probe`: what a document can talk an assessor into, and what moves its grades."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from labeler.cli import model_options, options
from labeler.cli.output import said_to, show, show_json
from labeler.cli.progress import control_of
from labeler.cli.reporting import show_judging_plan, show_outcome
from labeler.cli.screen import note, result_width, say
from labeler.cli.signals import run_until_stopped
from labeler.messages import cost_of
from labeler.models.settings import Limits
from labeler.options import COUNT, SEED, option

if TYPE_CHECKING:
    from labeler.lab.probe.certificate import ProbeResult


def command(
    folder: options.Folder,
    *,
    prompt: str = option("", "A prompt's name, or a file's path."),
    model: str | None = option(None, model_options.MODEL_NAME),
    model_file: Path | None = option(None, model_options.MODEL_FILE),
    base_url: str | None = option(None, model_options.BASE_URL),
    pairs: int = option(20, "Pairs to attack, and as many of any grade to change.", COUNT),
    qrels: str | None = option(
        None, "Which qrels say what is not relevant; else human, or the only ones."
    ),
    part: Literal["attacks", "changes"] | None = option(None, "Try this alone; else both."),
    only: tuple[str, ...] = option(
        (), "Try this attack alone; repeatable.", flags="--attack", metavar="NAME"
    ),
    attacks: Path | None = option(
        None, "Further attacks: a JSON object of lists of texts.", metavar="FILE"
    ),
    seed: int = option(0, "Of which pairs are drawn.", SEED),
    require: tuple[str, ...] = option(
        (), "A gate, as raised:0.05: exit 5 where the share lies above; repeatable.", panel="Gates"
    ),
    require_high: tuple[str, ...] = option(
        (), "The same of the interval's high end.", panel="Gates"
    ),
    limits: Limits,
    flags: model_options.RunFlags,
    output: options.OutputFlags,
) -> None:
    """Say how often a document talks a model into a better grade.

    It says what else moves its grades, too.

    Replies are kept in the collection: the same command, run again, asks only for what is missing.
    """
    from labeler.collection.layout import open_collection
    from labeler.evaluation.gates import parse_limits
    from labeler.judging.judge import JudgeOptions
    from labeler.lab.probe.probe import ProbeOptions, aplan_probe, aprobe, check_gates
    from labeler.models.choose import model_in

    gates = parse_limits(require or (), "raised:0.05")
    high_gates = parse_limits(require_high or (), "raised:0.05", "require_high")
    collection, asks = open_collection(folder), model_in(model, model_file, flags.assessor)
    inputs = () if attacks is None else (attacks,)
    to = output.made_from(collection.folder, *inputs)
    asked = JudgeOptions(
        prompt, asks, base_url, None, flags.concurrency, flags.retry_failed, flags.redact, limits
    )
    tried = ProbeOptions(pairs, qrels, part, attacks, tuple(only or ()), seed)
    check_gates(tried, [name for name, _ in gates])
    check_gates(tried, [name for name, _ in high_gates], "require_high")
    control = control_of(flags)
    if flags.dry_run:
        plan = run_until_stopped(
            lambda stop: aplan_probe(collection, asked, tried, control.with_stop(stop))
        )
        show_outcome(plan, show_judging_plan, output, to)
        return
    result = run_until_stopped(
        lambda stop: aprobe(collection, asked, tried, control.with_stop(stop))
    )
    if output.format == "json":
        show_json(result.as_json(), to)
    elif output.format == "table":
        with said_to(to):
            _show(result)
    else:
        show(result.tables(), output.format, to)
    result.check(gates)
    result.check(high_gates, high_end=True)


def _show(result: ProbeResult) -> None:
    """Print what the certificate says in words, then the tables, then what it cost."""
    from labeler.report.render import render

    prompt, model = result.made_by
    say(f"{prompt}, {model}, by {result.source}")
    for sentence in result.sentences():
        say(sentence)
    for table in result.tables():
        say()
        say(render(table, width=result_width()).rstrip())
    cost = cost_of(result.cost, result.cost_at_most)
    say(f"\ncost of this run: {cost}; calls: {result.spent.calls:,}")
    if result.caveat:
        note(result.caveat)
