#!/usr/bin/env python3
"""Decisions between two systems beside those of other packages, on the same worlds.

    .venv/test/bin/python -m pip install fewhumans truescore cje-eval retrieval-eval-gate
    .venv/test/bin/python scripts/simulate_peers.py stops        # who stops when, and is it right
    .venv/test/bin/python scripts/simulate_peers.py intervals    # of people's difference

`stops`: all pairs of DL 2019's systems, by nDCG@10. The peers take queries in random order, with
both lists judged, and stop as soon as their sequence of intervals tells better, worse, or as good
within the margin. They speak of queries like these: right is what holds of the 43 queries that
all are drawn from. labeler speaks of those that were drawn.

`intervals`: people's grades on some of `--queries` queries, an LLM's on all: 95 % intervals of the
difference of two systems over all queries like these, at the same number of people's grades.
cje-eval has no interval that holds at every look, and takes part in the second alone.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import combinations
from random import Random

import numpy as np
from correction_worlds import JUDGES, dl19
from harness import DL19, parser
from simulate_decisions import Case, decided

from labeler.evaluation.differences import Differences
from labeler.evaluation.draws import Draws
from labeler.exchange.qrels import read_qrels
from labeler.exchange.runs import read_run
from labeler.metrics import parse
from labeler.stats.estimates import Design
from labeler.stats.ppi import Joint
from labeler.trec.files import ranking

Ends = tuple[float, float]
Values = np.ndarray
OURS = "labeler"


# Stopping: the ends of each package's interval after so many queries, in the order of drawing.


def gate_ends(values: Values) -> Iterator[Ends]:
    """retrieval-eval-gate: bets for draws with replacement, on a grid; MIT."""
    from rag_eval_gate.sequential import ConfidenceSequence

    sequence = ConfidenceSequence()
    for value in values:
        low, high = sequence.update((value + 1) / 2)
        yield 2 * low - 1, 2 * high - 1


def truescore_ends(values: Values) -> Iterator[Ends]:
    """truescore: empirical Bernstein; Apache-2.0."""
    from truescore import confidence_sequence

    sequence = confidence_sequence(values, bounds=(-1.0, 1.0))
    yield from zip(sequence.lower_bounds, sequence.upper_bounds, strict=True)


def fewhumans_ends(values: Values) -> Iterator[Ends]:
    """fewhumans: Hoeffding with a union over looks; Apache-2.0."""
    from fewhumans.sequential.cs import cs_human_only

    for count in range(1, len(values) + 1):
        result = cs_human_only(values[:count], lo=-1.0, hi=1.0)
        yield result.lo, result.hi


SEQUENCES: dict[str, Callable[[Values], Iterator[Ends]]] = {
    "retrieval-eval-gate": gate_ends,
    "truescore": truescore_ends,
    "fewhumans": fewhumans_ends,
}


def stopped(ends: Iterator[Ends], margin: float) -> tuple[str, int]:
    """The first verdict, and after how many queries; empty where none of them tells."""
    count = 0
    for count, (low, high) in enumerate(ends, start=1):
        if low > 0 or high < 0:
            return ("better" if low > 0 else "worse"), count
        if max(-low, high) <= margin:
            return "as good", count
    return "", count


def stops(given: argparse.Namespace) -> None:
    """Each package on each pair of systems."""
    human, differences = read_qrels(DL19 / "nist.qrels"), Differences(parse("nDCG@10"), 3)
    runs = [read_run(path) for path in sorted((DL19 / "runs").glob("*.gz"))]
    tops = [{query: ranking(run.get(query, {}))[:10] for query in human} for run in runs]
    means = dl19(DL19, ["nDCG@10"])["nist"][0].mean(axis=1)
    truths = [float(new - old) for old, new in combinations(means, 2)]
    cases = defaultdict[str, list[Case]](list)
    for number, (old, new) in enumerate(combinations(tops, 2)):
        draw, every = Random(f"{number}"), sorted(human)
        some = draw.choices(every, k=given.queries) if given.queries else every
        documents, whole = {}, {}
        for place, query in enumerate(some):
            name = f"{place} {query}"
            documents[name] = differences.documents(old[query], new[query])
            whole[name] = {doc: max(human[query].get(doc, 0), 0) for doc in documents[name]}
        draws = Draws(differences, documents, {}, f"order {number}")
        truth = draws.look(whole, len(draws.order)).difference
        values = {name: draws.span(name, whole)[0] for name in documents}
        verdict, judged, *_ = decided(draws, whole, given.margin)
        made = {OURS: (verdict, judged, truth)}
        shuffled = draw.sample(list(values), len(values))
        order = np.array([values[name] for name in shuffled])
        for name, ends_of in SEQUENCES.items():
            verdict, count = stopped(ends_of(order), given.margin)
            judged = sum(len(documents[query]) for query in shuffled[:count])
            made[name] = verdict, judged, truths[number]
        both = sum(map(len, documents.values()))
        for name, (verdict, judged, right) in made.items():
            cases[name].append(Case(right, verdict, judged / both, "", 0, 0))
    print("package              better/worse  as good  undecided  wrong  share judged")
    for name, of in cases.items():
        verdicts = [case.verdict for case in of]
        told = np.mean([verdict in ("better", "worse") for verdict in verdicts])
        good, none = (np.mean([v == word for v in verdicts]) for word in ("as good", ""))
        wrong = np.mean([bool(c.verdict) and c.is_wrong(c.verdict, given.margin) for c in of])
        quarter, middle, more = np.quantile([case.share for case in of], [0.25, 0.5, 0.75])
        print(
            f"{name:20} {told:12.2f}  {good:7.2f}  {none:9.2f}  {wrong:5.3f}  "
            f"{middle:.2f} ({quarter:.2f}, {more:.2f})"
        )


# Intervals: `human` are `(2, queries)` scores of the labelled queries, `assessor` of all queries.


def people_alone(human: Values, _assessor: Values, _labelled: Values) -> Ends:
    """Student's interval of people's differences."""
    from fewhumans.estimators import human_only

    result = human_only(list(human[1] - human[0]))
    return result.lo, result.hi


def labeler_ends(human: Values, assessor: Values, labelled: Values) -> Ends:
    """`labeler correct`, for queries like these."""
    design = Design(labelled, assessor.shape[1])
    (difference,) = Joint(human, assessor, design).differences(0)
    ends = difference.corrected.low, difference.corrected.high
    return (-1.0, 1.0) if None in ends else ends  # type: ignore[return-value]


def truescore_ppi(human: Values, assessor: Values, labelled: Values) -> Ends:
    """PPI++ with a normal quantile."""
    from truescore import ppi_compare

    result = ppi_compare(assessor[1], assessor[0], human[1], human[0], labelled)
    return result.low, result.high


def fewhumans_ppi(human: Values, assessor: Values, labelled: Values) -> Ends:
    """PPI++ with Student's quantile."""
    from fewhumans.estimators import ppi_plus_mean

    by_assessor = assessor[1] - assessor[0]
    rest = np.delete(by_assessor, labelled)
    result = ppi_plus_mean(rest, human[1] - human[0], by_assessor[labelled])
    return result.lo, result.hi


def gate_ppi(human: Values, assessor: Values, labelled: Values) -> Ends:
    """PPI++ with a normal quantile."""
    from rag_eval_gate import ppi_mean

    by_assessor = assessor[1] - assessor[0]
    rest = np.delete(by_assessor, labelled)
    result = ppi_mean([*(human[1] - human[0])], [*by_assessor[labelled]], [*rest])
    return result.lo, result.hi


def cje_ends(human: Values, assessor: Values, labelled: Values) -> Ends:
    """A calibrated mean of the differences, which are put between 0 and 1; MIT."""
    from cje import calibrated_mean_ci

    labels = np.full(assessor.shape[1], np.nan)
    labels[labelled] = (human[1] - human[0] + 1) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        low, high = calibrated_mean_ci((assessor[1] - assessor[0] + 1) / 2, labels).ci
    return 2 * low - 1, 2 * high - 1


INTERVALS: dict[str, Callable[[Values, Values, Values], Ends]] = {
    "people alone, t": people_alone,
    OURS: labeler_ends,
    "truescore": truescore_ppi,
    "fewhumans": fewhumans_ppi,
    "retrieval-eval-gate": gate_ppi,
    "cje-eval": cje_ends,
}


def intervals(given: argparse.Namespace) -> None:
    """Coverage and width of each package's interval, and how often it tells two systems apart."""
    print("package              assessor      people of  held  least   width  told  wrong  failed")
    for measure in given.measures:
        scores = dl19(DL19, [measure])
        people, total = scores["nist"][0], given.queries or 200
        for judge in JUDGES:
            for labelled in given.sizes:
                rows = defaultdict[str, list[tuple[float, ...]]](list)
                rng = np.random.default_rng(1)
                for repeat in range(given.repeats):
                    pairs = list(combinations(range(len(people)), 2))
                    pair = list(pairs[repeat % len(pairs)])
                    some = rng.integers(people.shape[1], size=total)
                    both = [scores[name][0][pair][:, some] for name in ("nist", judge)]
                    chosen = np.sort(rng.choice(total, labelled, replace=False))
                    truth = float((people[pair[1]] - people[pair[0]]).mean())
                    for name, ends_of in INTERVALS.items():
                        try:
                            low, high = ends_of(both[0][:, chosen], both[1], chosen)
                        except (ValueError, RuntimeError):
                            low, high = np.nan, np.nan
                        held = low - 1e-9 <= truth <= high + 1e-9
                        told = low > 0 or high < 0
                        wrong = told and (low > 0) != (truth > 0)
                        rows[name].append((held, high - low, told, wrong, np.isnan(low)))
                for name, of in rows.items():
                    held, width, told, wrong, failed = np.nanmean(np.array(of, float), axis=0)
                    print(
                        f"{name:20} {judge:13} {labelled:3} of {total}  {held:.3f}  "
                        f"{width:.3f}  {told:.3f}  {wrong:.3f}  {failed:.2f}  {measure}",
                        flush=True,
                    )


ACTS = {"stops": stops, "intervals": intervals}


def main() -> None:
    given = parser(
        __doc__,
        act=ACTS,
        queries=0,
        margin=0.05,
        repeats=550,
        sizes=[10, 20, 40],
        measures=["nDCG@10"],
    ).parse_args()
    ACTS[given.act](given)


if __name__ == "__main__":
    main()
