#!/usr/bin/env python3
"""How good is the assessor that is chosen, and what does halving save? 22 LLMs' grades, 25 queries.

Queries are drawn with replacement from those of LLMJudge, once to choose by and once to hold out.
So the truth is known: an assessor's kappa on all 25. Printed are how often the interval on the held
out queries holds the chosen one's true kappa, and how often that on the queries it was chosen by
does; how much too high the latter's kappa is; how much worse the chosen one truly is than the truly
best (regret); and the share of pairs that halving asks about. In brackets: standard errors.

Usage: simulate_tuning.py --data FOLDER [--repeats 200]
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from statistics import fmean, stdev

from harness import parser

from labeler.agreement.compare import StatisticOptions
from labeler.collection.judged_set import JudgedSet
from labeler.data import Qrels
from labeler.lab.standing import (
    CandidateAnswers,
    Yardstick,
    better_half,
    queries_by_round,
    ranked,
)
from labeler.trec.files import read_qrels
from labeler.trec.labels import read_labels

OPTIONS = StatisticOptions(("kappa",))


def by_people(human: Qrels) -> Yardstick:
    return Yardstick(human, OPTIONS)


def answers_of(labels: dict[str, Qrels]) -> dict[str, CandidateAnswers]:
    return {name: CandidateAnswers(JudgedSet.of_grades(of)) for name, of in labels.items()}


def kappa(
    name: str, answers: dict[str, CandidateAnswers], by: Yardstick
) -> tuple[float, float, float]:
    value = by.agreement(name, answers[name]).statistics["kappa"]
    return value.value or 0.0, value.low or 0.0, value.high or 0.0


def drawn(qrels: Qrels, queries: list[str]) -> Qrels:
    return {f"{n}": qrels[query] for n, query in enumerate(queries) if query in qrels}


def chosen(
    names: list[str], answers: dict[str, CandidateAnswers], by: Yardstick, sizes: tuple[int, ...]
) -> tuple[str, int]:
    """The name that is left, and how many (query, assessor) were asked."""
    ranking, asked, done = list(names), 0, 0
    for number, size in enumerate(sizes):
        left = better_half(ranking) if number else ranking
        asked += len(left) * (size - done)
        done = size
        ranking = ranked(left, answers, by.on([f"{n}" for n in range(size)]))
    return ranking[0], asked


def main() -> None:
    options = parser(__doc__, repeats=200)
    options.add_argument("--data", type=Path, required=True)
    arguments = options.parse_args()
    human = read_qrels(arguments.data / "human.qrels")
    labels = {}
    for path in sorted((arguments.data / "labels").iterdir()):
        rows = read_labels(path).labels
        labels[path.stem] = {
            query: {doc: int(label) for doc, label in row.items() if str(label).isdigit()}
            for query, row in rows.items()
        }
    all_answers, whole = answers_of(labels), by_people(human)
    truth = {name: kappa(name, all_answers, whole)[0] for name in labels}
    names, queries = sorted(labels), sorted(human)
    print(
        f"{len(names)} assessors; true kappa {min(truth.values()):.3f} to {max(truth.values()):.3f}"
    )
    for many in (4, 22):
        for size in (10, 25, 50):
            row(names, many, size, (human, labels, queries, truth), arguments.repeats)


def row(names, many, size, world, repeats) -> None:  # type: ignore[no-untyped-def]
    human, labels, queries, truth = world
    held, naive, optimism, regret, regret_all, share = [], [], [], [], [], []
    for repeat in range(repeats):
        rng = Random(f"{many} {size} {repeat}")
        some = rng.sample(names, many)
        parts = []
        for _ in range(2):
            sample = rng.choices(queries, k=size)
            part = {name: drawn(labels[name], sample) for name in some}
            parts.append((answers_of(part), by_people(drawn(human, sample))))
        (answers, by), (other, held_out) = parts
        sizes = queries_by_round(many, size)
        name, asked = chosen(some, answers, by, sizes)
        best = max(truth[n] for n in some)
        share.append(asked / (many * size))
        regret.append(best - truth[name])
        name_all, _ = chosen(some, answers, by, (size,))
        regret_all.append(best - truth[name_all])
        value, low, high = kappa(name, other, held_out)
        held.append(float(low <= truth[name] <= high))
        value, low, high = kappa(name, answers, by)
        naive.append(float(low <= truth[name] <= high))
        optimism.append(value - truth[name])
    cells = [held, naive, optimism, regret, regret_all]
    shown = "  ".join(f"{fmean(c):.3f} ({stdev(c) / len(c) ** 0.5:.3f})" for c in cells)
    print(f"{many:2} of 22, {size:2} queries  {shown}  asked {fmean(share):.2f}", flush=True)


if __name__ == "__main__":
    main()
