"""One call judges a pool and expands it, round after round, and says why it stopped."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.collection.layout import Collection
from labeler.collection.pool import read_pool
from labeler.errors import Misuse
from labeler.judging.judge import JudgeOptions
from labeler.model import Request
from labeler.models.encoders import EncoderTexts, Encoding
from labeler.models.session import Control
from labeler.models.settings import Limits
from labeler.pools.expand import ExpandedJudging, Expansion, expand_until
from labeler.pools.pool import pool
from labeler.testing import fake_model
from tests.pools.test_expand import CHAIN, encoder_apart

RELEVANT = 5
"""So many documents from the beginning of the chain are relevant."""


@pytest.fixture(autouse=True)
def terms_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with encoder_apart(monkeypatch):
        yield


@pytest.fixture
def chain(tmp_path: Path) -> Collection:
    """Eight documents in a chain, and one query that finds the first two."""
    folder = tmp_path / "coll"
    folder.mkdir()
    rows = [{"_id": f"d{n}", "title": "", "text": text} for n, text in enumerate(CHAIN)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "bee"}\n')
    run = tmp_path / "mine.trec"
    run.write_text("q Q0 d0 1 2 mine\nq Q0 d1 2 1 mine\n")
    pool(folder, runs=[run], only=True)
    collection = Collection(folder)
    Encoding().ready(collection.vectors, EncoderTexts(CHAIN, ["bee"]))  # asked for here, not later
    return collection


def expanded(
    collection: Collection,
    rounds: Expansion | None = None,
    relevant: int = RELEVANT,
    **changes: int,
) -> tuple[ExpandedJudging, list[str], int]:
    """What one call gave, the lines that it said, and how often it asked."""
    asked, notes = list[str](), list[str]()

    def grade(request: Request) -> str:
        content = request.messages[-1].content
        asked.append(content)
        return json.dumps({"grade": int(any(text in content for text in CHAIN[:relevant]))})

    options = JudgeOptions(model=fake_model(grade), name="llm", limits=Limits(**changes))  # type: ignore[arg-type]
    how = rounds or Expansion(until=0.1, neighbors=2)
    return expand_until(collection, options, how, control=Control(notes.append)), notes, len(asked)


def test_rounds_follow_one_another_until_one_brings_too_little(chain: Collection) -> None:
    result, notes, asked = expanded(chain)
    assert [(r.round, r.pairs, r.relevant, r.relevant_in_pool) for r in result.rounds] == [
        (1, 1, 1, 3),
        (2, 1, 1, 4),
        (3, 1, 1, 5),
        (4, 1, 0, 5),
    ]
    assert result.sentences[-1] == (
        "4 rounds brought 3 relevant documents in 4 pairs; stopped, as round 4 brought 0.0% of all "
        "relevant documents, less than 10.0%"
    )
    assert (asked, result.judging.spent.calls, result.judging.judged) == (6, 6, 6)
    assert notes[1:3] == [
        "round 1: 1 pair added, from 2 relevant documents",
        "round 1 brought 1 relevant document in 1 pair, 33.3% of the 3 there are",
    ]
    assert sum(line.startswith("model:") for line in notes) == 1


def test_what_a_later_judging_warns_of_is_said(chain: Collection) -> None:
    notes = list[str]()

    def note(line: str) -> None:
        notes.append(line)
        if line.startswith("round 1:"):  # before its pairs are judged
            chain.file_of_replies.unlink()

    options = JudgeOptions(model=fake_model('{"grade": 1}'), name="llm")
    expand_until(chain, options, Expansion(neighbors=2), control=Control(note))
    assert sum("no reply is remembered" in line for line in notes) == 1


def test_the_same_call_again_asks_nothing_and_says_the_same(chain: Collection) -> None:
    first, _, _ = expanded(chain)
    before = chain.pool.read_bytes()
    again, _, asked = expanded(chain)
    assert (again.rounds, again.ended, asked) == (first.rounds, first.ended, 0)
    assert chain.pool.read_bytes() == before


@pytest.mark.parametrize("calls", range(2, 6))
def test_a_budget_holds_for_all_rounds_and_a_larger_one_goes_on(
    chain: Collection, calls: int
) -> None:
    part, _, asked = expanded(chain, max_calls=calls)
    assert asked == calls
    assert "stopped at the budget" in part.ended
    whole, _, more = expanded(chain)
    assert asked + more == 6
    assert [r.relevant for r in whole.rounds] == [1, 1, 1, 0]


ENDS = {
    "rounds": (Expansion(2, 0.1, max_rounds=2), RELEVANT, 2, "stopped after round 2"),
    "nothing": (Expansion(2, 0.1), 0, 0, "no document of the pool has a grade of 1"),
    "all": (Expansion(2, 0.0), len(CHAIN), 6, "the pool has all neighbors"),
}


@pytest.mark.parametrize("name", ENDS)
def test_why_there_is_no_further_round_is_said(name: str, chain: Collection) -> None:
    rounds, relevant, number, ended = ENDS[name]
    result, _, _ = expanded(chain, rounds, relevant)
    assert len(result.rounds) == number
    assert ended in result.ended
    assert len(read_pool(chain.pool)) == 2 + number


def test_a_round_that_a_kill_left_without_grades_is_judged_first(chain: Collection) -> None:
    expanded(chain, Expansion(2, 0.1, max_rounds=1))
    for path in (chain.judgements("llm"), chain.qrels("llm")):
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    result, _, asked = expanded(chain)
    assert ([r.relevant for r in result.rounds], asked) == ([1, 1, 1, 0], 3)


def test_a_share_beyond_one_and_no_round_are_refused(
    chain: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Misuse, match="expected 1 to"):
        Expansion(max_rounds=0)
    words = ["pool", str(chain.folder), "--model", "similarity", "--expand", "llm", "--until"]
    assert execute([*words, "1.5"]) == 2
    capsys.readouterr()
    assert execute([*words, ".1", "--dry-run"]) == 0
    assert "what rounds add to it is not known before" in capsys.readouterr().err
    assert execute([*words, ".1", "--json"]) == 0
    assert {"rounds", "ended", "judged"} <= json.loads(capsys.readouterr().out).keys()


def test_rounds_of_another_assessor_do_not_end_those_of_this_one(chain: Collection) -> None:
    expanded(chain, relevant=2)  # its one round brought nothing
    asked = JudgeOptions(model=fake_model('{"grade": 1}', "lenient"), name="lenient")
    result = expand_until(chain, asked, Expansion(2, 0.1, max_rounds=2))
    assert [r.round for r in result.rounds] == [1, 2, 3]
    assert result.ended == "stopped after round 3, as at most 2 rounds may be"
    stricter = Expansion(until=1.0, neighbors=2)
    assert "stopped, as round 3 brought" in expand_until(chain, asked, stricter).ended
    wider = expand_until(chain, asked, Expansion(until=1.0, neighbors=4))
    assert len(wider.rounds) > 3


@pytest.mark.parametrize("words", ["--max-rounds 3", "--neighbors 2", "--rel 2"])
def test_what_says_how_to_expand_is_refused_where_nothing_is_expanded(
    words: str, chain: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    before = chain.pool.read_bytes()
    option, value = words.split()
    command = ["pool", str(chain.folder)]
    assert execute([*command, option, value]) == 2
    assert f"{option}: it says how --expand goes on" in capsys.readouterr().err
    assert execute(["pool", str(chain.folder), "--until", ".1"]) == 2
    assert chain.pool.read_bytes() == before
