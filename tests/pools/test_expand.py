"""Pools that grow by the neighbors of relevant documents, and what stays right about them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from labeler.cli import execute
from labeler.collection.card import read_card
from labeler.collection.layout import Collection
from labeler.collection.lock import locked
from labeler.collection.pool import merge_pools, read_pool, write_pool
from labeler.collection.search import Searched
from labeler.data import Document, Pair, Pooled
from labeler.errors import BadInput, Misuse
from labeler.messages import Advance
from labeler.models.control import Control
from labeler.pools.adding import Expanded
from labeler.pools.expand import Expansion, NewRuns, expand
from labeler.pools.missed import estimate_missed
from labeler.pools.pool import inclusions, pool, systematic
from labeler.pools.reuse import brought_alone
from labeler.runs.retrieve import neighbors
from labeler.testing import Answer, Call, FakeServer, embeddings
from labeler.testing.fake_server import texts_in

CHAIN = ("ant bee", "bee cow", "cow dog", "dog elk", "elk fox", "fox gnu", "gnu hen", "hen ibis")
"""Each text shares a word with the next, so that BM25 finds the one before and the one after."""


@pytest.fixture
def chain(tmp_path: Path) -> Collection:
    """Eight documents d0 … d7 in a chain, and one query that finds the first two."""
    folder = tmp_path / "coll"
    folder.mkdir()
    rows = [{"_id": f"d{n}", "title": "", "text": text} for n, text in enumerate(CHAIN)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "bee"}\n')
    run = tmp_path / "mine.trec"
    run.write_text("q Q0 d0 1 2 mine\nq Q0 d1 2 1 mine\n")
    collection = Collection(folder)
    pool(collection, runs=[run], only=True)
    return collection


def judged(collection: Collection, *relevant: str) -> None:
    """Judge the whole pool: these documents are relevant."""
    collection.qrels("llm").parent.mkdir(exist_ok=True)
    lines = (
        f"q 0 {entry.pair.doc_id} {int(entry.pair.doc_id in relevant)}\n"
        for entry in read_pool(collection.pool)
    )
    collection.qrels("llm").write_text("".join(lines))


@contextmanager
def encoder_apart(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server that gives each text a direction of its own, so that terms alone make neighbors."""
    numbers: dict[str, int] = {}

    def apart(call: Call) -> Answer:
        texts = texts_in(call)
        answer = embeddings(texts)
        for row, text in zip(answer["data"], texts, strict=True):
            row["embedding"] = [0.0] * 64
            row["embedding"][numbers.setdefault(text, len(numbers))] = 1.0
        return Answer(answer)

    with FakeServer() as server:
        server.encode = apart
        monkeypatch.setenv("LABELER_ENCODER", "apart")
        monkeypatch.setenv("LABELER_EMBEDDINGS_URL", server.base_url)
        yield


@pytest.fixture(autouse=True)
def terms_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with encoder_apart(monkeypatch):
        yield


def by_terms(collection: Collection, **changes: float) -> Expanded:
    settings = {"neighbors": 2, **changes}
    result = expand(collection, Expansion("llm", **settings))  # type: ignore[arg-type]  # two are counts
    assert result.expansion is not None
    return result.expansion


def test_neighbors_of_relevant_documents_join_with_where_they_come_from(chain: Collection) -> None:
    judged(chain, "d1")
    first = by_terms(chain)
    assert (first.round, first.seeds, first.added, first.last) == (1, 1, 1, None)
    pooled = {entry.pair.doc_id: entry for entry in read_pool(chain.pool)}
    assert pooled["d2"] == Pooled(Pair("q", "d2"), (), None, None, ("d1",), 1)
    assert pooled["d0"] == Pooled(Pair("q", "d0"), ("mine",), 1, None, ("d1",), None)
    assert pooled.keys() == {"d0", "d1", "d2"}
    assert read_card(chain)["pool"]["rounds"]["1"]["pairs"] == 1


def test_rounds_follow_one_another_until_one_brings_too_little(chain: Collection) -> None:
    relevant = ["d0", "d1", "d2", "d3"]
    shares = []
    for _ in range(10):
        judged(chain, *relevant)
        done = by_terms(chain, until=0.3)
        if done.last is not None:
            shares.append(done.last.share)
        if done.stopped:
            break
    assert shares == [1 / 3, 1 / 4]
    assert done.sentences() == [
        "round 2 brought 1 relevant document in 1 pair, 25.0% of the 4 there are",
        "stopped: that is less than 30.0%; nothing was added",
    ]
    before = chain.pool.read_bytes()
    assert by_terms(chain, until=0.3) == done
    assert chain.pool.read_bytes() == before
    assert by_terms(chain, until=0.2).added == 1


def test_a_round_that_is_not_judged_is_not_followed_by_another(chain: Collection) -> None:
    judged(chain, "d1")
    by_terms(chain)
    with pytest.raises(Misuse, match="grades of 0 of the 1 pairs of round 1; judge"):
        by_terms(chain)


def test_where_nothing_is_relevant_there_is_nothing_to_expand_from(chain: Collection) -> None:
    judged(chain)
    with pytest.raises(Misuse, match="no document of the pool has a grade of 1 or more"):
        by_terms(chain)


def test_a_pool_that_has_all_neighbors_says_so(chain: Collection) -> None:
    judged(chain, "d0")
    done = by_terms(chain)
    assert done.added == 0
    assert done.sentences() == [
        "stopped: the pool has all neighbors of 1 relevant document already"
    ]


def test_tops_of_new_runs_begin_a_round_whatever_the_last_one_brought(chain: Collection) -> None:
    judged(chain, "d1")
    by_terms(chain)
    judged(chain, "d1")
    assert by_terms(chain).stopped
    late = chain.folder.parent / "late.trec"
    late.write_text("q Q0 d7 1 2 late\nq Q0 d6 2 1 late\n")
    settings = Expansion("llm", neighbors=2)
    result = expand(chain, settings, NewRuns((late,), depth=1))
    pooled = {entry.pair.doc_id: entry for entry in read_pool(chain.pool)}
    assert pooled["d7"] == Pooled(Pair("q", "d7"), ("late",), 1, None, (), 2)
    assert "d6" not in pooled
    assert result.runs == ("late", "mine")


def test_a_bound_takes_what_most_relevant_documents_lead_to(chain: Collection) -> None:
    judged(chain, "d0", "d1")
    by_terms(chain, max_pairs=2)
    assert len(read_pool(chain.pool)) == 2
    by_terms(chain, max_pairs=3)
    assert len(read_pool(chain.pool)) == 3


def test_a_bound_that_leaves_no_room_is_said_to(chain: Collection) -> None:
    judged(chain, "d0", "d1")
    done = by_terms(chain, max_pairs=2)
    assert (done.added, done.left_out) == (0, 1)
    assert done.sentences() == [
        "the pool is at the size that was set for it; left out: 1 pair",
        "stopped: nothing was added; set a larger size to go on",
    ]


@pytest.mark.parametrize(("most", "tops", "near"), [(2, 0, 0), (4, 2, 0), (6, 4, 0), (7, 4, 1)])
def test_tops_of_new_runs_come_before_neighbors_and_both_stay_within_a_bound(
    chain: Collection, most: int, tops: int, near: int
) -> None:
    judged(chain, "d0", "d1")
    folder = chain.folder.parent
    late = (folder / "late.trec", folder / "more.trec")
    for path, documents in zip(late, (("d7", "d6"), ("d5", "d4")), strict=True):
        rows = [f"q Q0 {d} {rank} {9 - rank} t\n" for rank, d in enumerate(documents, start=1)]
        path.write_text("".join(rows))
    result = expand(chain, Expansion("llm", neighbors=2, max_pairs=most), NewRuns(late, depth=2))
    added = [entry for entry in read_pool(chain.pool) if entry.round]
    assert result.pairs == len(read_pool(chain.pool)) == 2 + tops + near
    assert sum(bool(entry.runs) for entry in added) == tops
    assert sum(bool(entry.seeds) for entry in added) == near
    assert result.reached is not None
    assert result.reached.most == tops // 2
    if tops == 2:
        assert {entry.pair.doc_id for entry in added} == {"d7", "d5"}  # the runs take turns
    assert result.expansion is not None
    assert result.expansion.left_out == 5 - tops - near


def test_runs_of_many_queries_are_shared_out_evenly_within_a_bound(
    chain: Collection,
) -> None:
    queries = "".join(json.dumps({"_id": f"q{n}", "text": "bee"}) + "\n" for n in range(3))
    chain.queries.write_text(chain.queries.read_text() + queries)
    judged(chain, "d0", "d1")
    late = chain.folder.parent / "late.trec"
    documents = range(2, 7)
    late.write_text(
        "".join(f"q{n} Q0 d{d} {d} {9 - d} late\n" for n in range(3) for d in documents)
    )
    expand(chain, Expansion("llm", neighbors=2, max_pairs=8), NewRuns((late,), depth=5))
    pairs = [entry.pair for entry in read_pool(chain.pool) if entry.round]
    assert pairs == [Pair(f"q{n}", d) for n in range(3) for d in ("d2", "d3")]


@pytest.mark.parametrize("step", ["indexing, BM25", "searching, BM25", "encoding"])
def test_nothing_is_written_where_the_corpus_changes_while_neighbors_are_looked_for(
    chain: Collection, step: str
) -> None:
    """Another process replaces the corpus and the pool, as `update` does, while a step goes on."""
    judged(chain, "d1")
    before = chain.pool.read_bytes()

    @contextmanager
    def progress(name: str) -> Iterator[Advance]:
        if name == step:
            lines = chain.corpus.read_text().splitlines(keepends=True)
            other = chain.folder / "other"
            other.write_text("".join(line for line in lines if '"d2"' not in line))
            other.replace(chain.corpus)
        yield lambda _done, _total: None

    with pytest.raises(BadInput, match=r"corpus.jsonl: changed meanwhile; run the command again$"):
        expand(chain, Expansion("llm", neighbors=2), control=Control(progress=progress))
    assert chain.pool.read_bytes() == before
    assert by_terms(chain).added == 0  # without that document there is no other neighbor


def test_documents_of_the_random_sample_are_no_seeds_and_may_leave_it(chain: Collection) -> None:
    sampled = [Pooled(Pair("q", d), ("mine",), 9, 0.25) for d in ("d2", "d4")]
    with locked(chain):
        write_pool(chain.pool, merge_pools(read_pool(chain.pool), sampled))
    judged(chain, "d1", "d2", "d4")
    assert by_terms(chain).seeds == 1
    pooled = {entry.pair.doc_id: entry for entry in read_pool(chain.pool)}
    assert pooled["d2"] == Pooled(Pair("q", "d2"), ("mine",), 9, None, ("d1",), 1)
    assert pooled["d4"].inclusion == 0.25
    assert pooled.keys() == {"d0", "d1", "d2", "d4"}


def test_what_was_missed_is_still_estimated_without_bias() -> None:
    """Over all starts of the systematic draw, the mean estimate is what is left out in truth."""
    shares = inclusions(np.arange(1, 41, dtype=np.float64) ** -0.5, 8.0)
    relevant = {n for n in range(40) if n % 3 == 0}
    brought = set(range(0, 40, 5))
    estimates = []
    for start in np.linspace(0, 1, 400, endpoint=False):
        sample = [
            Pooled(Pair("q", f"d{n}"), inclusion=float(shares[n]))
            for n in systematic(shares, float(start))
        ]
        rounds = [Pooled(Pair("q", f"d{n}"), seeds=("s",), round=1) for n in brought]
        grades = {"q": {f"d{n}": int(n in relevant) for n in range(40)}}
        estimates.append(estimate_missed(merge_pools(sample, rounds), grades).missed)
    assert np.mean(estimates) == pytest.approx(len(relevant - brought), rel=0.02)


def entry(doc_id: str, *seeds: str, number: int | None = None) -> Pooled:
    return Pooled(Pair("q", doc_id), seeds=seeds, round=number)


def test_a_run_that_is_left_out_takes_with_it_what_its_documents_alone_led_to() -> None:
    found = {"a": {"one"}, "b": {"two"}, "c": set(), "d": set(), "e": set(), "f": {"one"}}
    entries = [
        entry("a"),
        entry("b"),
        entry("c", "a", number=1),
        entry("d", "a", "b", number=1),
        entry("e", "c", number=2),
        entry("f", "d"),
        entry("people"),
    ]
    finders = {Pair("q", doc_id): names for doc_id, names in found.items()}
    gone = {family: brought_alone(entries, finders, {family}) for family in ("one", "two")}
    assert {d for _, d in gone["one"]} == {"a", "c", "e"}
    assert {d for _, d in gone["two"]} == {"b"}
    assert {d for _, d in brought_alone(entries, finders, {"one", "two"})} == set("abcdef")


def test_documents_that_led_to_one_another_alone_do_not_hold_each_other() -> None:
    entries = [entry("a", "b"), entry("b", "a", number=1)]
    finders: dict[Pair, set[str]] = {Pair("q", "a"): {"one"}, Pair("q", "b"): set()}
    assert brought_alone(entries, finders, {"one"}) == {Pair("q", "a"), Pair("q", "b")}


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"seeds": "d1"}, "expected 'seeds' to be a list of names"),
        ({"seeds": [1]}, "expected 'seeds' to be a list of names"),
        ({"round": 0}, "expected 'round' to count from 1"),
        ({"round": "1"}, "expected 'round' to count from 1"),
    ],
)
def test_rows_that_say_something_else_are_refused(
    tmp_path: Path, row: dict[str, object], problem: str
) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_text(json.dumps({"query_id": "q", "doc_id": "d", **row}) + "\n")
    with pytest.raises(BadInput, match=f"pool.jsonl:1: {problem}"):
        read_pool(path)


def test_the_command_expands_and_says_what_the_round_brought(
    chain: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["pool", str(chain.folder), "--expand", "llm", "--neighbors", "2"]
    judged(chain, "d1")
    assert execute(words) == 0
    assert "round 1: 1 pair added, from 1 relevant document" in capsys.readouterr().out
    judged(chain, "d1", "d2")
    assert execute([*words, "--until", "0.6", "--json"]) == 0
    last = json.loads(capsys.readouterr().out)["expansion"]["last"]
    assert (last["relevant"], last["relevant_in_pool"], last["share"]) == (1, 2, 0.5)
    assert execute([*words, "--beyond", "3"]) == 2
    assert execute([*words[:2], "--expand", "nobody"]) == 2


def test_neighbors_are_nearest_first_and_never_the_document_itself() -> None:
    documents = [Document(f"d{n}", text) for n, text in enumerate(CHAIN)]
    near = neighbors(Searched.of(documents), documents, 5)
    for first, second in pairwise(documents):
        assert second.id in near[first.id]
        assert first.id in near[second.id]
    assert all(len(others) <= 2 and seed not in others for seed, others in near.items())
