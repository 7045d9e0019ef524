"""What other tools call measures: trec_eval, pytrec_eval, ir_measures, ranx, BEIR, MTEB.

A name stands here only where the tool's number is the one that the measure here gives; names whose
number is another one stand in `REFUSED`, with the reason.
"""

from __future__ import annotations

import re

SPELLINGS = {
    "accuracy@": "Success@",
    "average_precision": "AP",
    "dcg_burges": "DCG(dcg='exp-log2')",
    "f1_score": "F1",
    "gm_map": "GMAP",
    "hit": "Success",
    "hit_rate": "Success",
    "hit_ratio": "Success",
    "hitrate": "Success",
    "iprec_at_recall": "IPrec",
    "map": "AP",
    "mean_average_precision": "AP",
    "mean_reciprocal_rank": "RR",
    "mrr": "RR",
    "ndcg_burges": "nDCG(dcg='exp-log2')",
    "num_q": "NumQ",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "num_ret": "NumRet",
    "precision": "P",
    "q": "Q-measure",
    "r-precision": "Rprec",
    "r_precision": "Rprec",
    "recall": "R",
    "recip_rank": "RR",
    "reciprocal_rank": "RR",
    "set_f": "SetF",
    "set_p": "SetP",
    "set_recall": "SetR",
    "top_k_accuracy": "Success",
}
"""Names in lower case to those here. One that ends with `@` is meant with a cutoff alone."""

_COUNTS = (
    "counts relevant documents in ranx and queries with one elsewhere: "
    "P@{k} is the count over {k}, Success@{k} the share of queries"
)
_TREC_EVAL = "is trec_eval's and no measure here; the command trec-eval prints it"
REFUSED = {
    "accuracy": "is of pairs of documents in ir_measures and not here; Accuracy@10 is Success@10",
    "hits": _COUNTS,
    "hole": "is the share that is not judged, 1 - Judged@{k}; ask for Judged@{k}",
    "map_cut": "needs a cutoff, as map_cut_10, which is AP@10 here",
    "ndcg_cut": "needs a cutoff, as ndcg_cut_10, which is nDCG@10 here",
    "r_cap": "divides by the smaller of k and the relevant documents; ask for R@{k} or Rprec",
    "rbp.": "adds grades up in ranx; RBP(rel=1,p=0.{k}) counts documents as relevant or not",
    "set_map": _TREC_EVAL,
    **{
        name.lower(): _TREC_EVAL
        for name in (
            *("11pt_avg", "binG", "G", "gm_bpref", "ndcg_rel", "num_nonrel_judged_ret"),
            *("relative_P", "relstring", "Rndcg", "Rprec_mult", "set_relative_P", "utility"),
        )
    },
}
"""Names in lower case that mean something else elsewhere, and what to ask for instead."""

_PARTS = re.compile(
    r"(?P<name>[a-z0-9][a-z0-9_-]*?)"
    r"(?P<inside>\(.*\))?"
    r"(?:(?P<sign>@|\.|_at_|_cut_|_cut\.|_)(?P<cutoff>[0-9][0-9.]{0,20}))?",
    re.IGNORECASE,
)


def canonical(text: str, registered: dict[str, str]) -> str:
    """The name here of a measure that another tool or another hand spells so; empty if unknown.

    `registered` holds the names of the registry and their aliases, by their lower case.
    """
    parts = _parts(text)
    if parts is None:
        return ""
    name, cutoff = parts["name"].lower(), parts["cutoff"] or ""
    meant = SPELLINGS.get(f"{name}@", "").rstrip("@") if cutoff else ""
    meant = meant or SPELLINGS.get(name) or registered.get(name, "")
    if not meant or refusal(text):
        return ""
    inside = parts["inside"] or ""
    if "(" in meant and inside:
        meant, inside = meant.partition("(")[0], f"({meant.partition('(')[2][:-1]},{inside[1:]}"
    return f"{meant}{inside}" + (f"@{cutoff}" if cutoff else "")


def refusal(text: str) -> str:
    """Why a name that another tool uses is not taken, and what to ask for; empty if it may be."""
    parts = _parts(text)
    if parts is None:
        return ""
    name, cutoff = parts["name"].lower(), parts["cutoff"]
    if cutoff and f"{name}@" in SPELLINGS:
        return ""
    if name in REFUSED and not (cutoff and name.endswith("_cut")):
        why = REFUSED[name]
    else:
        why = REFUSED.get(f"{name}.", "") if parts["sign"] == "." else ""
    return why.format(k=cutoff or 10) if why else ""


def _parts(text: str) -> re.Match[str] | None:
    return _PARTS.fullmatch(text.strip())
