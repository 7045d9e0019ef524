"""What stands behind judgements, to be said beside every figure that rests on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from labeler.collection.layout import Collection
from labeler.data import Run
from labeler.evaluation.boards.judge_bias import Kin, families, kin_of, together
from labeler.evaluation.inputs import AnyQrels, qrels_path, short_name
from labeler.evaluation.scores import judgement_findings
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.trec.runs import read_tag


def caveats(models: Sequence[str]) -> Iterator[Finding]:
    """How far the grades of embedded assessors among the models can be trusted, each once."""
    from labeler.models.local.caveats import caveat, embedded_name

    names = dict.fromkeys(filter(None, map(embedded_name, models)))
    return (Finding(caveat(name)) for name in names)


def origin_findings(qrels: AnyQrels) -> list[Finding]:
    """Whose judgements these are, how many failed, and what is known of the pool behind them."""
    from labeler.collection.card import standing
    from labeler.collection.whose import collection_of_qrels, made_by  # takes long to load

    path = qrels_path(qrels)
    if path is None:
        return []
    mixed = mixed_findings(path)
    origin = collection_of_qrels(path)
    if origin is None:
        return mixed
    collection, name = origin
    findings = [*_routed(collection, name), *caveats(made_by(collection, name).models)]
    findings += part_findings(collection, name)
    findings += judgement_findings(collection.judgements(name))
    return [*mixed, *findings, *standing(collection, name)]


def pool_findings(qrels: AnyQrels) -> list[Finding]:
    """Why grades may not stand for those of a pool: they are mixed, routed, or those of a part."""
    from labeler.collection.whose import collection_of_qrels  # takes long to load

    path = qrels_path(qrels)
    if path is None:
        return []
    origin = collection_of_qrels(path)
    of_collection = [] if origin is None else [*_routed(*origin), *part_findings(*origin)]
    return [*mixed_findings(path), *of_collection]


def mixed_findings(path: Path) -> list[Finding]:
    """That qrels hold grades from several sources, and how many from each."""
    from labeler.collection.whose import mixture  # takes long to load

    text = mixture(path)
    return [Finding(text)] if text else []


def _routed(collection: Collection, name: str) -> Iterator[Finding]:
    """That people's grades are of pairs which were chosen for being in doubt, where they are."""
    from labeler.collection.whose import CHOSEN, routed_pairs

    if routed := len(routed_pairs(collection, name)):
        pairs = count_of(routed, "pair was", "pairs were")
        yield Finding(f"{name}: {pairs} {CHOSEN}: no figure by these tells of all pairs")


def part_findings(collection: Collection, name: str) -> list[Finding]:
    """That a set judges a part of another's pairs, and what that keeps it from telling."""
    from labeler.collection.card import parent_of  # takes long to load

    parent = parent_of(collection, name)
    if parent is None or not parent.is_part:
        return []
    tells = "the others are unjudged"
    if parent.is_by_grades:
        tells += ", and those judged are not like them"
    return [Finding(f"{parent.sentence(name)}; {tells}")]


def kin_behind(qrels: AnyQrels, runs: Mapping[str, Path | Run]) -> list[Kin]:
    """The runs that are kin to the model that judged, or to the one that wrote the queries.

    Of qrels outside a collection only the file's name may tell, where it names a family of models.
    """
    from labeler.collection.whose import MadeBy, collection_of_qrels, made_by

    path = qrels_path(qrels)
    if path is None:
        return []
    origin = collection_of_qrels(path)
    made = MadeBy() if origin is None else made_by(*origin)
    stem = short_name(path.name)
    model = ", ".join(made.models) or (stem if families(stem) else "")
    models = {"assessor": model, "query writer": made.writer}
    named = {role: model for role, model in models.items() if model}
    tags = {name: f"{_tag(run)} {made.tags.get(name, '')}" for name, run in runs.items() if named}
    return kin_of(list(runs), tags, named)


def _tag(run: Path | Run) -> str:
    """What a run's file calls its system; a pipe is not read for it."""
    return read_tag(run) if isinstance(run, Path) and run.is_file() else ""


def kin_finding(kin: Sequence[Kin]) -> list[Finding]:
    """That runs are kin to the model whose judgements score them."""
    shows = "only people's grades can show"
    if len(kin) == 1:
        return [Finding(f"circular: {kin[0]}; whether that favors it, {shows}")]
    return [Finding(f"circular: {together(kin)}; whether that favors them, {shows}")] if kin else []
