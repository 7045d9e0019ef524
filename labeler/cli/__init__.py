"""The command line: a registry of commands, one file each, and the exit codes they end with."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

import typer

from labeler import __version__
from labeler.cli import (
    agree,
    build,
    demo,
    diff,
    doctor,
    evaluate,
    explain,
    fetch,
    fuse,
    generate,
    import_labels,
    ingest,
    judge,
    leaderboard,
    mmr,
    pool,
    power,
    prompts,
    qrels,
    relabel,
    run_files,
    sample,
    status,
    store,
    trec_eval,
)
from labeler.cli.screen import complain
from labeler.cli.stopping import Terminated, terminate
from labeler.errors import FileProblem, LabelerError, Misuse

BUILD = "Build a collection"
JUDGE = "Judge it"
MEASURE = "Measure with it"
FETCH = "Fetch and look up"


class Command(NamedTuple):
    """A function (or a Typer of subcommands), its panel in `--help`, and an example."""

    run: Callable[..., Any] | typer.Typer
    panel: str
    example: str


COMMANDS: dict[str, Command] = {
    "demo": Command(demo.command, BUILD, "labeler demo -o demo/ --model local"),
    "build": Command(build.command, BUILD, "labeler build docs/ -o coll/ --queries 50"),
    "ingest": Command(ingest.command, BUILD, "labeler ingest docs/ -o coll/"),
    "generate": Command(generate.command, BUILD, "labeler generate coll/ --queries 50"),
    "pool": Command(pool.command, BUILD, "labeler pool coll/ --depth 10 --run mine.trec"),
    "sample": Command(sample.command, JUDGE, "labeler sample coll/ --pairs 200 -o sheet.csv"),
    "import-labels": Command(
        import_labels.command, JUDGE, "labeler import-labels sheet.csv coll/ --as human2"
    ),
    "judge": Command(
        judge.command, JUDGE, "labeler judge coll/ --prompt umbrela --model gpt-4.1-mini --as first"
    ),
    "relabel": Command(
        relabel.command, JUDGE, "labeler relabel coll/ --from first --prompt basic --as second"
    ),
    "diff": Command(diff.command, JUDGE, "labeler diff coll/ umbrela-gpt basic-gpt"),
    "evaluate": Command(
        evaluate.command, MEASURE, "labeler evaluate qrels/human.qrels runs/*.trec"
    ),
    "trec-eval": Command(
        trec_eval.command, MEASURE, "labeler trec-eval -q -m map -m P.5,10 qrels.txt run.txt"
    ),
    "leaderboard": Command(
        leaderboard.command, MEASURE, "labeler leaderboard human.qrels llm.qrels runs/*.trec"
    ),
    "power": Command(
        power.command, MEASURE, "labeler power human.qrels runs/*.trec --difference 0.02"
    ),
    "agree": Command(agree.command, MEASURE, "labeler agree human.qrels gpt-4o.qrels"),
    "fuse": Command(fuse.command, MEASURE, "labeler fuse bm25.trec dense.trec -o hybrid.trec"),
    "mmr": Command(mmr.command, MEASURE, "labeler mmr dense.trec coll/ -o diverse.trec"),
    "qrels": Command(qrels.app, MEASURE, "labeler qrels stats human.qrels"),
    "run": Command(run_files.app, MEASURE, "labeler run cut bm25.trec -o top.trec --depth 100"),
    "fetch": Command(fetch.command, FETCH, "labeler fetch model"),
    "prompts": Command(prompts.app, FETCH, "labeler prompts show umbrela"),
    "doctor": Command(doctor.command, JUDGE, "labeler doctor --model gpt-4.1-mini --pairs 5000"),
    "status": Command(status.command, JUDGE, "labeler status coll/"),
    "explain": Command(explain.command, JUDGE, "labeler explain coll/ q1 d7"),
    "store": Command(store.app, JUDGE, "labeler store verify coll/"),
}


def summary_of(command: Command) -> str:
    """The first line of a command's help."""
    run_ = command.run
    text = run_.info.help if isinstance(run_, typer.Typer) else run_.__doc__
    return (text or "").strip().split("\n")[0]


INTERRUPTED = 130
TERMINATED = 143


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"labeler {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Build retrieval test collections with an LLM as the relevance assessor."""


def make_app(only: str | None = None) -> typer.Typer:
    """The Typer app of all `COMMANDS`, or of one: building them all takes longer than most run."""
    app = typer.Typer(
        name="labeler",
        callback=_options,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    for name in COMMANDS if only is None else (only,):
        run, panel, example = COMMANDS[name]
        epilog = f"Example: {example}"
        if isinstance(run, typer.Typer):
            app.add_typer(run, name=name, rich_help_panel=panel, epilog=epilog)
        else:
            app.command(name, rich_help_panel=panel, epilog=epilog)(run)
    return app


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; DESIGN.md lists them."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        app = make_app(given[0] if given and given[0] in COMMANDS else None)
        result = app(given or ["--help"], prog_name="labeler", standalone_mode=False)
    except LabelerError as error:
        complain(str(error))
        return error.exit_code
    except typer.TyperException as error:
        complain(f"{error.format_message().rstrip('.')}; see {_help_of(error)}")
        return Misuse.exit_code
    except (KeyboardInterrupt, typer.Abort):
        result = INTERRUPTED
    except Terminated:
        complain("terminated; run the same command again to go on")
        return TERMINATED
    except BrokenPipeError:
        return 0
    except OSError as error:
        complain(f"{error.filename or ''}: {error.strerror or error}")
        return FileProblem.exit_code
    if result == INTERRUPTED:
        complain("interrupted; run the same command again to go on")
    return result if isinstance(result, int) else 0


def _help_of(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'labeler'} --help"


def main() -> None:
    """The console script's entry."""
    signal.signal(signal.SIGTERM, terminate)
    sys.exit(run())
