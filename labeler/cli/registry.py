"""The registry of commands: where each one is, what it is for, and an example of it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import typer

BUILD = "Build a collection"
JUDGE = "Judge it"
MEASURE = "Measure with it"
FETCH = "Fetch and look up"


class Command(NamedTuple):
    """A module of this package, its panel in `--help`, what it stands on, and an example.

    The module is called after the command, and holds a function `command`, or a Typer `app` of
    subcommands. It is imported when it runs: importing all of them takes longer than most of them
    run. `library` is the module, or the folder of modules, whose functions it calls.
    """

    module: str
    panel: str
    library: str
    example: str

    @property
    def run(self) -> Callable[..., Any] | typer.Typer:
        """The function, or the Typer of subcommands."""
        module = import_module(f"labeler.cli.{self.module}")
        runs: Callable[..., Any] | typer.Typer = getattr(module, "app", None) or module.command
        return runs


COMMANDS: dict[str, Command] = {
    "demo": Command("demo", BUILD, "pipeline", "labeler demo -o demo/ --model local"),
    "init": Command("init", BUILD, "files.settings", "labeler init"),
    "build": Command("build", BUILD, "pipeline", "labeler build docs/ -o coll/ --queries 50"),
    "ingest": Command("ingest", BUILD, "corpus.ingest", "labeler ingest docs/ -o coll/"),
    "update": Command("update", BUILD, "corpus.update", "labeler update docs/ coll/ --dry-run"),
    "rechunk": Command("rechunk", BUILD, "corpus.rechunk", "labeler rechunk coll/ --words 120"),
    "chunk": Command("chunk", BUILD, "pools.chunk", "labeler chunk coll/ --compare 100,200,400"),
    "validate": Command(
        "validate", BUILD, "collection.validate", "labeler validate coll/ --strict"
    ),
    "generate": Command(
        "generate", BUILD, "queries.generate", "labeler generate coll/ --queries 50"
    ),
    "queries": Command("queries", BUILD, "queries", "labeler queries passages coll/ --format csv"),
    "retrieve": Command(
        "retrieve",
        BUILD,
        "runs.retrieve_run",
        "labeler retrieve coll/ --as live --url-template 'http://127.0.0.1:8000/?q={query}'",
    ),
    "rerank": Command(
        "rerank", BUILD, "runs.rerank", "labeler rerank coll/ bm25 --as bm25-gpt --model gpt-4.1"
    ),
    "pool": Command("pool", BUILD, "pools.pool", "labeler pool coll/ --depth 10 --run mine.trec"),
    "sample": Command(
        "sample", JUDGE, "people.sample", "labeler sample coll/ --pairs 200 -o sheet.csv"
    ),
    "annotate": Command(
        "annotate", JUDGE, "annotate.annotate", "labeler annotate coll/ --rater anna"
    ),
    "import-labels": Command(
        "import_labels",
        JUDGE,
        "people.import_labels",
        "labeler import-labels sheet.csv coll/ --as human2",
    ),
    "import-qrels": Command(
        "import_qrels",
        JUDGE,
        "pools.import_qrels",
        "labeler import-qrels qrels/test.tsv coll/ --as human",
    ),
    "judge": Command(
        "judge",
        JUDGE,
        "judging.judge",
        "labeler judge coll/ --prompt four-grades --model gpt-4.1-mini --as first",
    ),
    "collect": Command(
        "collect", JUDGE, "scale.partitions.collect", "labeler collect coll/ /shared/parts"
    ),
    "relabel": Command(
        "relabel",
        JUDGE,
        "judging.relabel",
        "labeler relabel coll/ --from first --prompt basic --as second",
    ),
    "diff": Command(
        "diff", JUDGE, "agreement.diff.diff", "labeler diff coll/ four-grades-gpt basic-gpt"
    ),
    "tune": Command(
        "tune",
        JUDGE,
        "lab.tune.tune",
        "labeler tune coll/ --prompts four-grades,basic --models local",
    ),
    "panel": Command(
        "panel",
        JUDGE,
        "lab.panel.panel",
        "labeler panel coll/ four-grades-gpt basic-gpt by-topic-gpt --as panel",
    ),
    "probe": Command(
        "probe",
        JUDGE,
        "lab.probe.probe",
        "labeler probe coll/ --prompt four-grades --model gpt-4.1-mini --require raised:0.05",
    ),
    "evaluate": Command(
        "evaluate", MEASURE, "evaluation.evaluate", "labeler evaluate qrels/human.qrels runs/*.trec"
    ),
    "correct": Command(
        "correct",
        MEASURE,
        "evaluation.correct",
        "labeler correct human.qrels llm.qrels runs/*.trec",
    ),
    "trec-eval": Command(
        "trec_eval",
        MEASURE,
        "evaluation.trec_eval.program",
        "labeler trec-eval -q -m map -m P.5,10 qrels.txt run.txt",
    ),
    "shift": Command("shift", MEASURE, "pools.shift", "labeler shift coll/ --qrels human"),
    "leaderboard": Command(
        "leaderboard",
        MEASURE,
        "evaluation.leaderboard",
        "labeler leaderboard human.qrels llm.qrels runs/*.trec",
    ),
    "missed": Command("missed", MEASURE, "pools.missed", "labeler missed coll/ --qrels llm"),
    "report": Command(
        "report", MEASURE, "collection_report", "labeler report coll/ -o report.html"
    ),
    "reuse": Command("reuse", MEASURE, "pools.reuse", "labeler reuse coll/ --qrels llm"),
    "monitor": Command(
        "monitor",
        MEASURE,
        "monitoring.monitor",
        "labeler monitor coll/ --documents docs/ -o monitor.html",
    ),
    "power": Command(
        "power",
        MEASURE,
        "evaluation.power",
        "labeler power human.qrels runs/*.trec --difference 0.02",
    ),
    "agree": Command("agree", MEASURE, "agreement.agree", "labeler agree human.qrels gpt-4o.qrels"),
    "calibrate": Command(
        "calibrate",
        MEASURE,
        "lab.calibrate.calibrate",
        "labeler calibrate coll/ first --probabilities first.jsonl",
    ),
    "route": Command(
        "route",
        JUDGE,
        "lab.route.route",
        "labeler route coll/ first second --pairs 200 --sheet sheet.csv",
    ),
    "cascade": Command(
        "cascade",
        JUDGE,
        "lab.cascade.cascade",
        "labeler cascade coll/ cheap --model gpt-4.1 --as both",
    ),
    "fuse": Command(
        "fuse", MEASURE, "runs.fuse", "labeler fuse bm25.trec dense.trec -o hybrid.trec"
    ),
    "mmr": Command("mmr", MEASURE, "runs.mmr", "labeler mmr dense.trec coll/ -o diverse.trec"),
    "qrels": Command("qrels", MEASURE, "qrels", "labeler qrels stats human.qrels"),
    "run": Command("run", MEASURE, "runs", "labeler run cut bm25.trec -o top.trec --depth 100"),
    "fetch": Command("fetch", FETCH, "catalog.fetch", "labeler fetch model"),
    "export": Command(
        "export", FETCH, "collection.export", "labeler export coll/ --to beir -o beir/"
    ),
    "prompts": Command("prompts", FETCH, "prompt", "labeler prompts show four-grades"),
    "doctor": Command(
        "doctor", JUDGE, "models.check", "labeler doctor --model gpt-4.1-mini --pairs 5000"
    ),
    "trust": Command(
        "trust", JUDGE, "wire.gate", "labeler trust http://127.0.0.1:8000/v1 --key MY_KEY"
    ),
    "status": Command("status", JUDGE, "judging.status", "labeler status coll/"),
    "explain": Command("explain", JUDGE, "judging.explain", "labeler explain coll/ q1 d7"),
    "store": Command("store", JUDGE, "store", "labeler store verify coll/"),
}


def summary_of(command: Command) -> str:
    """The first line of a command's help."""
    run = command.run
    text = run.info.help if isinstance(run, typer.Typer) else run.__doc__
    return (text or "").strip().split("\n")[0]
