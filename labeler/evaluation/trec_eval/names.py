"""The measures of trec_eval 10 that exist here, in the order in which it prints them."""

from __future__ import annotations

from collections.abc import Sequence

from labeler.errors import Misuse
from labeler.evaluation.trec_eval import gains
from labeler.evaluation.trec_eval import measures as te
from labeler.evaluation.trec_eval.measures import (
    Line,
    Maker,
    at,
    at_share,
    count,
    numbered,
    paired,
    plain,
)
from labeler.metrics import binary, graded

RUN_ID, QUERIES = "runid", "num_q"
"""Printed from the run itself and from how many queries were averaged over."""

MEASURES: dict[str, Maker] = {
    "num_ret": count(lambda r, level: r.retrieved),
    "num_rel": count(lambda r, level: r.in_pool(level)),
    "num_rel_ret": count(binary.num_rel_ret),
    "map": plain(lambda r, level: binary.average_precision(r, None, level)),
    "gm_map": plain(
        lambda r, level: binary.average_precision(r, None, level), "geometric", by_query=False
    ),
    "Rprec": plain(binary.r_precision),
    "bpref": plain(binary.bpref),
    "recip_rank": plain(lambda r, level: binary.reciprocal_rank(r, None, level)),
    "iprec_at_recall": at_share(
        lambda k: lambda r, level: binary.interpolated_precision(r, k, level), te.RECALLS
    ),
    "P": at(lambda k: lambda r, level: binary.precision(r, k, level)),
    "relstring": te.relevance,
    "recall": at(lambda k: lambda r, level: binary.recall(r, k, level)),
    "infAP": plain(binary.inferred_average_precision),
    "gm_bpref": plain(binary.bpref, "geometric", by_query=False),
    "Rprec_mult": at_share(te.r_multiple, te.MULTIPLES),
    "utility": numbered(te.utility, (1.0, -1.0, 0.0, 0.0)),
    "11pt_avg": numbered(te.averaged_precision, te.RECALLS),
    "binG": plain(gains.binary_gain),
    "G": paired(lambda worth, _: lambda r, level: gains.normalized_gain(r, worth)),
    "dcg": paired(lambda worth, _: lambda r, level: gains.dcg(r, worth)),
    "ideal_dcg": paired(lambda worth, _: lambda r, level: gains.ideal_dcg(r, worth)),
    "ndcg": paired(lambda worth, _: lambda r, level: gains.ndcg(r, worth)),
    "ndcg_rel": paired(lambda worth, _: lambda r, level: gains.ndcg_rel(r, worth)),
    "Rndcg": paired(lambda worth, _: lambda r, level: gains.r_ndcg(r, level, worth)),
    "ndcg_cut": at(lambda k: lambda r, level: graded.ndcg(r, k)),
    "map_cut": at(lambda k: lambda r, level: binary.average_precision(r, k, level)),
    "relative_P": at(te.relative_precision),
    "success": at(lambda k: lambda r, level: binary.success(r, k, level), (1, 5, 10)),
    "set_P": plain(binary.set_precision),
    "set_relative_P": plain(te.set_relative_precision),
    "set_recall": plain(binary.set_recall),
    "set_map": plain(te.set_average_precision),
    "set_F": numbered(lambda p: lambda r, level: binary.set_f(r, level, p[0]), (1.0,)),
    "num_nonrel_judged_ret": count(te.judged_wrong),
    "num_nonjudged_ret": count(te.unjudged_retrieved),
    "yaap": plain(te.smoothed_average_precision),
    "rbp": paired(
        lambda worth, numbers: lambda r, level: gains.rbp(r, worth, numbers.get("p", 0.9))
    ),
    "rbp_resid": paired(lambda worth, numbers: te.rbp_residual(numbers.get("p", 0.9))),
    "unj": at(te.unjudged, (5, 10, 20)),
}

OFFICIAL = (
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"),
    *("recip_rank", "iprec_at_recall", "P"),
)
SETS = (
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility", "set_P", "set_recall"),
    *("set_relative_P", "set_map", "set_F"),
)
APART = ("dcg", "ideal_dcg", "num_nonjudged_ret", "yaap")
"""Printed only where they are asked for by name."""
ALL = (RUN_ID, QUERIES, *(name for name in MEASURES if name not in APART))
NICKNAMES = {"official": OFFICIAL, "set": SETS, "all_trec": ALL}
UNSUPPORTED = ("all_prefs", "prefs", "qrels_jg", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg")
"""Measures of trec_eval, beside every `prefs_…`, for preferences or several sets of qrels."""


def lines(asked: Sequence[str], documents: int = 0) -> list[Line | str]:
    """What to print for `-m` arguments, in trec_eval's order; `runid` and `num_q` as they are.

    As in trec_eval, the first parameters given to a measure are the ones that count. `documents`
    are those of the collection, which `utility` may ask for.
    """
    parameters: dict[str, str] = {}
    names_asked: set[str] = set()
    for text in asked or ["official"]:
        name, dot, parameter_text = text.partition(".")
        names = NICKNAMES.get(name, (name,))
        if unknown := [n for n in names if n not in MEASURES and n not in (RUN_ID, QUERIES)]:
            raise Misuse(_refused(unknown[0]))
        if dot and (not parameter_text or len(names) > 1):
            problem = "expected parameters of one measure after the dot"
            raise Misuse(f"{text}: {problem}", parameter="measures")
        names_asked |= set(names)
        if dot:
            parameters.setdefault(name, parameter_text)
    printed: list[Line | str] = [name for name in (RUN_ID, QUERIES) if name in names_asked]
    sized = {"utility": numbered(lambda p: te.utility(p, documents), (1.0, -1.0, 0.0, 0.0))}
    for name, make in (MEASURES | sized).items():
        printed += make(name, parameters.get(name, "")) if name in names_asked else []
    return printed


def _refused(name: str) -> str:
    """Why a measure is not here, and which are."""
    listed = ", ".join([*NICKNAMES, RUN_ID, QUERIES, *MEASURES])
    if name in UNSUPPORTED or name.startswith("prefs_"):
        return f"{name!r} is of preferences or several judges, which are not read; known: {listed}"
    return f"no measure {name!r} of trec_eval's here; known: {listed}"
