"""Retrieval test collections with an LLM as the relevance assessor.

Each daily act is one function, under the name of its command, and is imported when it is first
used. Those that ask a model have an asynchronous one beside them, as `ajudge` beside `judge`, which
also says what the act would take: `await labeler.ajudge("coll").plan()`.

    >>> import labeler
    >>> from labeler.testing import fake_model, small_collection
    >>> labeler.judge(small_collection(), model=fake_model('{"grade": 2}'), name="first")
    JudgeResult('first', judged=4 of 4)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labeler.agreement.agree import AgreeOptions as AgreeOptions
    from labeler.agreement.agree import agree as agree
    from labeler.agreement.diff.diff import diff as diff
    from labeler.agreement.retest import retest_of as retest_of
    from labeler.collection.export import ExportOptions as ExportOptions
    from labeler.collection.export import export as export
    from labeler.collection.layout import Collection as Collection
    from labeler.collection.layout import open_collection as open_collection
    from labeler.collection_report.contents import ReportOptions as ReportOptions
    from labeler.collection_report.report import report_of as report_of
    from labeler.corpus.ingest import ingest as ingest
    from labeler.corpus.rechunk import rechunk as rechunk
    from labeler.corpus.update import update as update
    from labeler.errors import LabelerError as LabelerError
    from labeler.evaluation.correct import correct as correct
    from labeler.evaluation.evaluate import evaluate as evaluate
    from labeler.evaluation.evaluator import Evaluator as Evaluator
    from labeler.evaluation.leaderboard import leaderboard as leaderboard
    from labeler.evaluation.power import power as power
    from labeler.exchange.qrels import read_qrels as read_qrels
    from labeler.exchange.runs import read_run as read_run
    from labeler.judging.judge import JudgeOptions as JudgeOptions
    from labeler.judging.judge import ajudge as ajudge
    from labeler.judging.judge import judge as judge
    from labeler.judging.relabel import arelabel as arelabel
    from labeler.judging.relabel import relabel as relabel
    from labeler.judging.validate import validate as validate
    from labeler.lab.calibrate import calibrate as calibrate
    from labeler.lab.cascade import CascadeOptions as CascadeOptions
    from labeler.lab.cascade import cascade as cascade
    from labeler.lab.control import drift as drift
    from labeler.lab.panel import panel as panel
    from labeler.lab.probe import ProbeOptions as ProbeOptions
    from labeler.lab.probe import probe as probe
    from labeler.lab.route import RouteOptions as RouteOptions
    from labeler.lab.route import route as route
    from labeler.lab.tune import TuneOptions as TuneOptions
    from labeler.lab.tune import tune as tune
    from labeler.models.session import Control as Control
    from labeler.models.settings import Limits as Limits
    from labeler.monitoring.monitor import monitor as monitor
    from labeler.pipeline.build import BuildOptions as BuildOptions
    from labeler.pipeline.build import build as build
    from labeler.pipeline.compare import compare as compare
    from labeler.pipeline.decide import adecide as adecide
    from labeler.pipeline.decide import decide as decide
    from labeler.pools.expand import expand_until as expand_until
    from labeler.pools.import_qrels import import_qrels as import_qrels
    from labeler.pools.pool import pool as pool
    from labeler.pools.reuse import reuse as reuse
    from labeler.pools.shift import shift as shift
    from labeler.prompt.read import find_prompt as find_prompt
    from labeler.queries.generate import GenerateOptions as GenerateOptions
    from labeler.queries.generate import agenerate as agenerate
    from labeler.queries.generate import generate as generate
    from labeler.queries.traffic import from_log as from_log
    from labeler.runs.retrieve_run import retrieve_run as retrieve_run

__version__ = "0.1.0"

_PUBLIC = {
    "AgreeOptions": "agreement.agree:AgreeOptions",
    "BuildOptions": "pipeline.build:BuildOptions",
    "CascadeOptions": "lab.cascade:CascadeOptions",
    "Collection": "collection.layout:Collection",
    "Control": "models.session:Control",
    "Evaluator": "evaluation.evaluator:Evaluator",
    "ExportOptions": "collection.export:ExportOptions",
    "GenerateOptions": "queries.generate:GenerateOptions",
    "JudgeOptions": "judging.judge:JudgeOptions",
    "LabelerError": "errors:LabelerError",
    "Limits": "models.settings:Limits",
    "ProbeOptions": "lab.probe:ProbeOptions",
    "ReportOptions": "collection_report.contents:ReportOptions",
    "RouteOptions": "lab.route:RouteOptions",
    "TuneOptions": "lab.tune:TuneOptions",
    "adecide": "pipeline.decide:adecide",
    "agenerate": "queries.generate:agenerate",
    "agree": "agreement.agree:agree",
    "ajudge": "judging.judge:ajudge",
    "arelabel": "judging.relabel:arelabel",
    "build": "pipeline.build:build",
    "calibrate": "lab.calibrate:calibrate",
    "cascade": "lab.cascade:cascade",
    "compare": "pipeline.compare:compare",
    "correct": "evaluation.correct:correct",
    "decide": "pipeline.decide:decide",
    "diff": "agreement.diff.diff:diff",
    "drift": "lab.control:drift",
    "evaluate": "evaluation.evaluate:evaluate",
    "expand_until": "pools.expand:expand_until",
    "export": "collection.export:export",
    "find_prompt": "prompt.read:find_prompt",
    "from_log": "queries.traffic:from_log",
    "generate": "queries.generate:generate",
    "import_qrels": "pools.import_qrels:import_qrels",
    "ingest": "corpus.ingest:ingest",
    "judge": "judging.judge:judge",
    "leaderboard": "evaluation.leaderboard:leaderboard",
    "monitor": "monitoring.monitor:monitor",
    "open_collection": "collection.layout:open_collection",
    "panel": "lab.panel:panel",
    "pool": "pools.pool:pool",
    "power": "evaluation.power:power",
    "probe": "lab.probe:probe",
    "read_qrels": "exchange.qrels:read_qrels",
    "read_run": "exchange.runs:read_run",
    "rechunk": "corpus.rechunk:rechunk",
    "relabel": "judging.relabel:relabel",
    "report_of": "collection_report.report:report_of",
    "retest_of": "agreement.retest:retest_of",
    "retrieve_run": "runs.retrieve_run:retrieve_run",
    "reuse": "pools.reuse:reuse",
    "route": "lab.route:route",
    "shift": "pools.shift:shift",
    "tune": "lab.tune:tune",
    "update": "corpus.update:update",
    "validate": "judging.validate:validate",
}
"""Where each public name is defined: `module:attribute`, the module as seen from this package."""

__all__ = ["__version__", *_PUBLIC]  # noqa: PLE0604  the names are texts, from the table above


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _PUBLIC[name].partition(":")
    value = getattr(import_module(f"{__name__}.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
