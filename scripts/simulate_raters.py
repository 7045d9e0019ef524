#!/usr/bin/env python3
"""How often is what is said of raters, of pages of results and of two runs wrong?

`lgtm`: how often the interval of LGTM@10 holds the share of all queries; of one rater and of
several, whose answers about a query go together; of queries that count unequally; and of as many
queries from each of three groups.
`beside`: how often the intervals of a measure beside people's answers hold what all queries say.
`wins`: how often the interval of the win rate holds it, and how often the sign test tells two
systems apart; of one rater and of three.
`drift`: how often a rater is said to drift, where nothing changes and where something does. Grades
are NIST's of TREC DL 2019, 5 or 10 pairs a query in a random order of queries; the steady grades
are gpt-4o's. In `stricter` a share of relevant pairs gets one grade less, which grows to 0.6 at the
end, in `harsh` to all of them; in `faster` the time for a pair falls by 30 %. After Holm's
correction for three series.
`sides`: how often a rater is said to prefer a side, of 30 answers a rater and three raters.

Usage: simulate_raters.py lgtm beside wins drift sides [--repeats 2000] [--data FOLDER]
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from harness import DL19, parser, shown
from numpy.typing import NDArray

import labeler.stats.drift as over_time
from labeler.annotate.look_report import sides_chosen
from labeler.annotate.raters.agreement import drifts_of
from labeler.data import Pair
from labeler.stats.correlation import concordance, tau_over_queries
from labeler.stats.means import DrawnQueries, preferences, query_share
from labeler.stats.student import SIGNIFICANT
from labeler.trec.qrels import read_qrels

Floats = NDArray[np.float64]
QUERIES = (10, 25, 50, 100, 200)
SHARES = (0.05, 0.2, 0.5, 0.8, 0.95, 1.0)


def cell(name: str, count: int, repeats: int) -> str:
    return shown(name, count / max(repeats, 1), repeats)


def chances(share: float, alike: float, queries: int, rng: np.random.Generator) -> Floats:
    """The chance of each query to be called good: `alike` is their correlation over raters."""
    if share == 1 or alike == 0:
        return np.full(queries, share)
    scale = 1 / alike - 1
    return rng.beta(share * scale, (1 - share) * scale, queries)


def lgtm(repeats: int, rng: np.random.Generator) -> None:
    print("lgtm: intervals that hold the share of all queries")
    for raters, alike in ((1, 0.0), (2, 0.5), (3, 0.1), (3, 0.5), (3, 0.9)):
        for queries in QUERIES:
            cells = []
            for share in SHARES:
                held = 0
                for _ in range(repeats):
                    good = rng.binomial(raters, chances(share, alike, queries, rng)) / raters
                    ends = query_share(good, np.full(queries, float(raters)))
                    held += ends.low - 1e-9 <= share <= ends.high + 1e-9
                cells.append(cell(f"{share:g}", held, repeats))
            print(
                f"{raters} raters, alike {alike}, {queries:3} queries  {'  '.join(cells)}",
                flush=True,
            )
    weighted(repeats, rng)
    stratified(repeats, rng)


def weighted(repeats: int, rng: np.random.Generator) -> None:
    for queries in QUERIES:
        cells = []
        for share in SHARES:
            held = 0
            for _ in range(repeats):
                weights = np.exp(rng.normal(0, 1, queries))
                good = (rng.random(queries) < share).astype(float)
                ends = query_share(good, np.ones(queries), DrawnQueries(weights))
                held += ends.low - 1e-9 <= share <= ends.high + 1e-9
            cells.append(cell(f"{share:g}", held, repeats))
        print(f"weights (log-normal), {queries:3} queries  {'  '.join(cells)}", flush=True)


def stratified(repeats: int, rng: np.random.Generator) -> None:
    groups = np.array([700.0, 200.0, 100.0])
    for shares in ((0.9, 0.5, 0.2), (0.95, 0.95, 0.3), (0.9, 0.8, 0.7)):
        cells, truth = [], float(np.dot(shares, groups) / groups.sum())
        for each in (4, 10, 20, 70):
            held, strata = 0, np.repeat([0, 1, 2], each)
            for _ in range(repeats):
                good = (rng.random(3 * each) < np.repeat(shares, each)).astype(float)
                drawn = DrawnQueries(np.repeat(groups / each, each), strata)
                ends = query_share(good, np.ones(3 * each), drawn)
                held += ends.low - 1e-9 <= truth <= ends.high + 1e-9
            cells.append(cell(f"{3 * each}", held, repeats))
        print(f"three groups {shares}, queries  {'  '.join(cells)}", flush=True)


def beside(repeats: int, rng: np.random.Generator) -> None:
    print("beside: intervals that hold what all queries say; of those that have one")
    for together in (0.0, 0.5, 0.8, 0.95):
        cover = [[1, together], [together, 1]]
        many = rng.multivariate_normal([0, 0], cover, 4000)
        for cut, name in ((-1.3, ".90 good"), (-0.8, ".79 good"), (0.0, ".50 good")):
            good = many[:, 0] > cut
            truth = concordance(good, many[:, 1]).value
            tau = tau_over_queries(good.astype(float), many[:, 1]).value
            for queries in (12, 25, 50, 100):
                held, some, held_tau, some_tau = 0, 0, 0, 0
                for repeat in range(repeats):
                    drawn = rng.multivariate_normal([0, 0], cover, queries)
                    of = concordance(drawn[:, 0] > cut, drawn[:, 1])
                    if of.low is not None:
                        some, held = some + 1, held + (of.low <= truth <= of.high)
                    if repeat < repeats // 5:
                        of = tau_over_queries((drawn[:, 0] > cut).astype(float), drawn[:, 1])
                        some_tau += of.low is not None
                        held_tau += of.low is not None and of.low <= tau <= of.high
                cells = [cell("scores higher", held, some), cell("tau-b", held_tau, some_tau)]
                label = f"correlation {together}, {name}, {queries:3} queries"
                cells.append(cell("have one", some, repeats))
                print(f"{label}  {'  '.join(cells)}", flush=True)


def wins(repeats: int, rng: np.random.Generator) -> None:
    print("wins: intervals that hold the win rate; pairs that the sign test tells apart")
    for better, worse in ((0.3, 0.3), (0.1, 0.1), (0.5, 0.3), (0.7, 0.1), (0.2, 0.0)):
        for raters in (1, 3):
            for queries in QUERIES:
                held, told = 0, 0
                for repeat in range(repeats):
                    values = preferred(better, worse, raters, queries, rng)
                    of = preferences(values, seed=repeat)
                    truth = (1 + better - worse) / 2
                    held += (of.low or 0.0) - 1e-9 <= truth <= (of.high or 1.0) + 1e-9
                    told += of.p < SIGNIFICANT
                cells = [cell("held", held, repeats), cell("told apart", told, repeats)]
                label = f"wins {better}, losses {worse}, {raters} raters, {queries:3} queries"
                print(f"{label}  {'  '.join(cells)}", flush=True)


def preferred(
    better: float, worse: float, raters: int, queries: int, rng: np.random.Generator
) -> Floats:
    """Means over raters; half of them say what all say of the query, the others what they like."""
    shares = [better, 1 - better - worse, worse]
    usual = rng.choice([1.0, 0.0, -1.0], (queries, 1), p=shares)
    own = rng.choice([1.0, 0.0, -1.0], (queries, raters), p=shares)
    return np.where(rng.random((queries, raters)) < 0.5, usual, own).mean(axis=1)


def drift(repeats: int, rng: np.random.Generator, data: Path) -> None:
    print("drift: raters said to drift, by any series and by each")
    nist, steady = read_qrels(data / "nist.qrels"), read_qrels(data / "gpt-4o.qrels")
    over_time.ORDERS = 1000  # a tenth of what the command draws
    for pairs, each in ((40, 5), (100, 5), (200, 5), (200, 10), (400, 5)):
        for world in ("nothing", "stricter", "harsh", "faster"):
            said = {"any": 0, "mean grade": 0, "grade less gpt-4o's": 0, "seconds a pair": 0}
            for repeat in range(repeats):
                rows, references = graded(nist, steady, pairs, each, world, rng)
                alarms = [d.series for d in drifts_of(rows, references, repeat) if d.drifts]
                said["any"] += bool(alarms)
                for series in alarms:
                    said[series] += 1
            cells = [cell(name, count, repeats) for name, count in said.items()]
            print(f"{pairs} pairs, {each} a query, {world:8}  {'  '.join(cells)}", flush=True)


def graded(  # noqa: PLR0913, PLR0917 - a world has that many parts
    nist: dict[str, dict[str, int]],
    steady: dict[str, dict[str, int]],
    pairs: int,
    each: int,
    world: str,
    rng: np.random.Generator,
) -> tuple[list[SimpleNamespace], dict[str, dict[Pair, float]]]:
    """A rater's answers in the order of time, and gpt-4o's grades of the same pairs."""
    order = rng.permutation(sorted(nist))
    rows, references = [], {}
    for number in range(pairs // each):
        query, slow = str(order[number % len(order)]), rng.normal(0, 0.3)
        # a query that comes again is another one
        name = f"{query}-{number}"
        for doc in rng.choice(list(nist[query]), each, replace=False):
            late = len(rows) / pairs
            grade, seconds = nist[query][doc], np.exp(2.5 + slow + rng.normal(0, 0.6))
            share = {"stricter": 0.6, "harsh": 1.0}.get(world, 0.0)
            if grade and rng.random() < share * late:
                grade -= 1
            if world == "faster":
                seconds *= 0.7**late
            pair = Pair(name, str(doc))
            references[pair] = float(steady[query].get(doc, nist[query][doc]))
            rows.append(answer(pair, int(grade), float(seconds)))
    return rows, {"gpt-4o's": references}


def answer(pair: Pair, grade: int, seconds: float) -> SimpleNamespace:
    return SimpleNamespace(
        pair=pair,
        query_id=pair.query_id,
        purpose="audit",
        grade=grade,
        seconds=seconds,
        is_answer=True,
        detail={},
    )


def sides(repeats: int, rng: np.random.Generator) -> None:
    print("sides: any of three raters said to prefer a side, by the chance that they do")
    for chance in (0.5, 0.6, 0.7, 0.8):
        said = 0
        for _ in range(repeats):
            drawn = rng.random((3, 30)) < chance
            rows = {
                str(rater): [SimpleNamespace(answer="left" if left else "right") for left in row]
                for rater, row in enumerate(drawn)
            }
            found = sides_chosen(rows)
            said += any(side.p_holm < SIGNIFICANT for side in found)
        print(f"left with {chance}  {cell('said', said, repeats)}", flush=True)


WORLDS = ("lgtm", "beside", "wins", "drift", "sides")


def main(arguments: Sequence[str] | None = None) -> None:
    given = parser(__doc__, what=WORLDS, repeats=2000, seed=0, data=DL19).parse_args(arguments)
    rng = np.random.default_rng(given.seed)
    run = {"lgtm": lgtm, "beside": beside, "wins": wins, "sides": sides}
    for what in given.what:
        if what == "drift":
            drift(given.repeats, rng, given.data)
        else:
            run[what](given.repeats, rng)


if __name__ == "__main__":
    main()
