"""How deep to hand a ranking to a reader: the depth holds as often as it says, on made queries."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from labeler.cli import execute
from labeler.errors import BadInput, Misuse
from labeler.lab.depth import ReaderDepth, reader_depth
from labeler.trec.write import write_qrels, write_run

MISSES = (0.05, 0.1, 0.3)


def drawn(rng: np.random.Generator, queries: int) -> np.ndarray:
    """First ranks with a long tail; one query in fifty has nothing relevant in its ranking."""
    ranks = np.ceil(rng.pareto(1.2, queries) + 1e-9)
    return np.where(rng.random(queries) < 0.02, np.inf, np.maximum(ranks, 1))


def of_ranks(first: np.ndarray, miss: float) -> ReaderDepth:
    return ReaderDepth("made", miss, len(first), 0, first)


@pytest.mark.parametrize("miss", MISSES)
@pytest.mark.parametrize("queries", [19, 20, 43, 150])
def test_the_next_query_is_missed_as_seldom_as_is_said(miss: float, queries: int) -> None:
    rng = np.random.default_rng(queries)
    kept, draws = 0, 3000
    for _ in range(draws):
        sample = drawn(rng, queries + 1)
        depth = of_ranks(sample[:-1], miss).depth
        kept += sample[-1] <= (math.inf if depth is None else depth)
    error = math.sqrt(miss * (1 - miss) / draws)
    assert kept / draws >= 1 - miss - 3 * error


def test_95_of_100_samples_reach_the_share_of_all_queries() -> None:
    rng = np.random.default_rng(1)
    all_of_them = np.sort(drawn(rng, 200_000))
    held, draws = 0, 1000
    for _ in range(draws):
        depth = of_ranks(drawn(rng, 60), 0.2).sure_depth
        reached = 1.0 if depth is None else np.searchsorted(all_of_them, depth, "right") / 200_000
        held += reached >= 0.8
    assert held / draws >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / draws)


def test_too_few_queries_and_too_short_runs_say_so() -> None:
    few = of_ranks(np.ones(8), 0.1)
    assert few.depth is None
    assert few.sentences == ["made: 8 queries cannot say it for 90%: that takes 9 or more"]
    assert of_ranks(np.ones(9), 0.1).depth == 1
    short = of_ranks(np.array([1.0] * 30 + [math.inf] * 10), 0.1)
    assert short.depth is None
    assert "75% of queries have a relevant one in it" in short.sentences[0]


def test_grades_below_and_queries_without_a_relevant_document_do_not_count() -> None:
    qrels = {f"q{n}": {"a": 1, "b": 3} for n in range(20)} | {"none": {"a": 0}}
    run = {query: {"a": 2.0, "x": 1.5, "b": 1.0} for query in qrels}
    every = reader_depth(qrels, run)
    assert (every.depth, every.queries, every.without) == (1, 20, 1)
    assert "1 query has no relevant document" in every.warnings[0]
    assert reader_depth(qrels, run, relevant_from=3).depth == 3
    with pytest.raises(BadInput, match="no query has a document of grade 4"):
        reader_depth(qrels, run, relevant_from=4)
    with pytest.raises(Misuse, match=r"expected 0\.001 to 0\.5"):
        reader_depth(qrels, run, miss=0.7)


def test_the_command_tells_of_each_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qrels, runs = tmp_path / "human.qrels", [tmp_path / f"{name}.trec" for name in "ab"]
    write_qrels(qrels, {f"q{n}": {"r": 1} for n in range(30)})
    for deep, path in enumerate(runs):
        ranking = {f"d{k}": 9.0 - k for k in range(deep + 1)} | {"r": 1.0}
        write_run(path, {f"q{n}": ranking for n in range(30)}, "made")
    words = ["lab", "depth", str(qrels), *map(str, runs)]
    assert execute(words) == 0
    said = capsys.readouterr().out
    assert "a: with 2 passages, a relevant one is among them for the next query" in said
    assert "b: with 3 passages" in said
    assert "95% interval" in said
    assert execute([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["systems"]
    assert [each["depth"] for each in found] == [2, 3]
    assert [row["queries"] for row in found[1]["curve"]] == [0, 0, 1]
    assert execute(["lab", "depth", str(qrels)]) == 2
