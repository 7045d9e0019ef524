"""The best of many prompts and models is chosen on some queries and reported on others."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.collection.layout import Collection, locked
from labeler.collection.people import HumanAnswer, people_path, write_people
from labeler.data import Pair, Query
from labeler.errors import BadInput, Misuse
from labeler.judging.judge import judge
from labeler.lab.standing import better_half, queries_by_round, split_queries
from labeler.lab.tune import atune, tune
from labeler.model import Model, Reply, Request
from labeler.models.session import Control, run_to_end
from labeler.models.settings import Limits
from labeler.testing import FakeServer, fake_model, small_collection
from labeler.trec.files import read_qrels

QUERIES = 24


def grade_by_people(query: str, document: str) -> int:
    number = int(query.split()[1])
    return (3 if document == "cats" else 0) if number % 3 else number % 2


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    """24 queries of two documents each, all graded by people."""
    return made_collection(tmp_path / "coll", QUERIES)


def made_collection(folder: Path, size: int) -> Collection:
    queries = [Query(f"q{n}", f"number {n} of them") for n in range(size)]
    made = small_collection(folder, queries)
    lines = [
        f"{query.id} 0 {doc} {grade_by_people(query.text, doc)}"
        for query in queries
        for doc in ("cats", "fish")
    ]
    made.qrels("human").parent.mkdir()
    made.qrels("human").write_text("\n".join(lines) + "\n")
    return made


def assessor(name: str, wrong_every: int, calls: Counter[str] | None = None) -> Model:
    """Grades as people do, but for each so manieth query, of which it says 2."""

    def answer(request: Request) -> str:
        if calls is not None:
            calls[name] += 1
        query, text = request.inputs["query"], request.inputs["text"]
        grade = grade_by_people(query, "cats" if "chair" in text else "fish")
        wrong = int(query.split()[1]) % wrong_every == 0
        return json.dumps({"grade": 2 if wrong else grade})

    return fake_model(answer, name)


def test_queries_are_split_by_chance_and_equal_words_stay_together() -> None:
    texts = {f"q{n}": f"words {n // 2}" for n in range(20)}
    parts = split_queries(texts, 0.5, seed=3)
    assert sorted([*parts.chosen_by, *parts.held_out]) == sorted(texts)
    assert len(parts.held_out) == 10
    words = [{texts[query] for query in part} for part in parts]
    assert not words[0] & words[1]
    assert split_queries(texts, 0.5, seed=4) != parts == split_queries(texts, 0.5, seed=3)


def test_too_few_queries_to_split_are_refused() -> None:
    with pytest.raises(BadInput, match="3 queries, of which 2 would be held out and 1 left"):
        split_queries({"a": "1", "b": "2", "c": "3"}, 0.5, seed=0)


def test_each_round_has_twice_the_queries_of_the_one_before() -> None:
    assert queries_by_round(6, 40) == (10, 20, 40)
    assert queries_by_round(2, 40) == (40,)
    assert queries_by_round(16, 24) == (5, 6, 12, 24)
    assert queries_by_round(8, 3) == (3,)
    assert better_half("abcde") == ["a", "b", "c"]


def test_the_best_is_reported_on_queries_that_nobody_was_chosen_by(collection: Collection) -> None:
    from sklearn.metrics import cohen_kappa_score

    models = [assessor("half", 2), assessor("good", 7), assessor("third", 3), assessor("bad", 1)]
    result = tune(collection, prompts=["four-grades"], models=models)
    assert result.best == "four-grades-good"
    assert result.held_out
    assert not {*result.split.chosen_by} & {*result.split.held_out}
    pairs = [
        (f"number {query.removeprefix('q')} of them", document)
        for query in result.split.held_out
        for document in ("cats", "fish")
    ]
    human = [grade_by_people(*pair) for pair in pairs]
    given = [
        2 if int(query.split()[1]) % 7 == 0 else grade_by_people(query, document)
        for query, document in pairs
    ]
    assert result.held_out.value.value == pytest.approx(cohen_kappa_score(human, given))
    assert result.held_out.queries == 12


def test_no_candidate_is_shown_a_grade_of_a_query_that_it_is_tested_on(
    collection: Collection,
) -> None:
    shown = set[str]()

    def answer(request: Request) -> str:
        examples = request.messages[-1].content.partition("Now grade this one")[0]
        shown.update(re.findall(r"Query: number (\d+) of them", examples))
        return '{"grade": 1}'

    result = tune(
        collection, prompts=["few-shot", "four-grades"], models=[fake_model(answer, "any")]
    )
    assert shown
    assert {f"q{number}" for number in shown} <= {*result.split.chosen_by}


def test_no_other_is_called_worse_and_what_would_tell_it_is_said(collection: Collection) -> None:
    result = tune(collection, prompts="four-grades", models=[assessor("a", 2), assessor("b", 9)])
    told = "24 pairs of 12 queries tell two assessors apart if their kappas differ by 1.00 or more"
    assert told in " ".join(result.sentences)
    assert "worse" not in " ".join(result.sentences)
    of_another = tune(
        collection,
        prompts="four-grades",
        models=[assessor("a", 2), assessor("b", 9)],
        statistic="agreement",
    )
    assert "tell two assessors apart" not in " ".join(of_another.sentences)


def test_of_each_round_the_better_half_alone_is_asked_further(collection: Collection) -> None:
    calls = Counter[str]()
    errors = {"a": 1, "b": 2, "c": 3, "d": 11}
    result = tune(
        collection,
        prompts=["four-grades"],
        models=[assessor(n, e, calls) for n, e in errors.items()],
    )
    assert [one.queries for one in result.rounds] == [6, 12]
    assert calls["d"] == 2 * QUERIES
    assert sorted(calls.values()) == [12, 12, 24, 48]
    assert result.pairs_asked == sum(calls.values())
    assert f"Asked about {sum(calls.values())} pairs" in " ".join(result.sentences)


def test_what_was_answered_is_asked_no_second_time_by_tune_or_judge(collection: Collection) -> None:
    calls = Counter[str]()
    models = [assessor("a", 2, calls), assessor("b", 5, calls)]
    first = tune(collection, prompts=["four-grades"], models=models)
    asked = sum(calls.values())
    again = tune(collection, prompts=["four-grades"], models=models)
    spent = {"calls": 0, "cost": 0.0}
    assert again.as_json() | spent == first.as_json() | spent
    judge(collection, model=models[1], name="all")
    assert sum(calls.values()) == asked


def test_who_often_gives_no_grade_ranks_last(collection: Collection) -> None:
    def refuse(request: Request) -> str:
        number = int(request.inputs["query"].split()[1])
        grade = grade_by_people(request.inputs["query"], "cats")
        return "no" if number % 4 == 0 else json.dumps({"grade": grade})

    models = [fake_model(refuse, "refuses"), assessor("poor", 1)]
    result = tune(collection, prompts=["four-grades"], models=models)
    assert result.best == "four-grades-poor"
    assert any("no grade, so it ranks last" in str(finding) for finding in result.findings)


def test_what_a_pair_took_stands_beside_each(collection: Collection) -> None:
    short, long = assessor("cheap", 2), assessor("dear", 9)
    models = [dear(100, short), dear(900, long), dear(500, assessor("bad", 1))]
    result = tune(collection, prompts=["four-grades"], models=models)
    assert [s.answers.tokens_a_pair for s in result.standings] == [900, 100, 500]


def dear(words: int, model: Model) -> Model:
    async def ask(request: Request) -> Reply:
        return replace(await model.ask(request), prompt_tokens=words)

    return Model(model.id, ask)


def test_of_two_equals_the_cheaper_is_taken_and_one_that_may_be_equal_is_named(
    collection: Collection,
) -> None:
    same = [dear(900, assessor("dear", 9)), dear(100, assessor("cheap", 9))]
    result = tune(collection, prompts=["four-grades"], models=same)
    assert result.best == "four-grades-cheap"
    assert not any("is cheaper" in line for line in result.sentences)
    alike = [dear(900, assessor("dear", 9)), dear(100, assessor("cheap", 8))]
    result = tune(collection, prompts=["four-grades"], models=alike)
    best, other = (standing.name.rpartition("-")[2] for standing in result.standings)
    cheaper = [line for line in result.sentences if "four-grades-cheap is cheaper" in line]
    assert bool(cheaper) == (best == "dear")
    assert all(", within the best's " in line for line in cheaper)
    assert {best, other} == {"dear", "cheap"}


def test_a_budget_ends_it_and_the_same_call_goes_on(collection: Collection) -> None:
    calls = Counter[str]()
    models = [assessor("a", 2, calls), assessor("b", 5, calls)]
    result = tune(collection, prompts=["four-grades"], models=models, limits=Limits(max_calls=30))
    assert result.stopped
    assert result.best is None
    assert calls.total() == 30
    assert tune(collection, prompts=["four-grades"], models=models).best == "four-grades-b"
    assert calls.total() == 72


def test_prompts_of_several_scales_are_refused_before_any_call(
    collection: Collection, tmp_path: Path
) -> None:
    binary = tmp_path / "binary.md"
    binary.write_text(
        '+++\nkind = "grade"\ndescription = "b"\n[scale]\n0 = "no"\n1 = "yes"\n+++\n# user\n'
        'Query: {query}\n\n{passage}\n\nReply {"grade": 0} or {"grade": 1}.\n'
    )
    calls = Counter[str]()
    with pytest.raises(Misuse, match="four-grades 0 to 3, binary 0 to 1"):
        tune(collection, prompts=["four-grades", str(binary)], models=[assessor("a", 2, calls)])
    assert not calls


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"statistic": "bias"}, "does not say who is closer"),
        ({"held_out": 1.0}, "expected 0.01 to 0.99"),
        ({"prompts": ("four-grades",), "models": ("similarity",)}, "one assessor alone"),
        ({"human": "nobody"}, "nobody"),
    ],
)
def test_what_cannot_be_answered_is_refused(
    collection: Collection, changes: dict[str, object], message: str
) -> None:
    settings: dict[str, object] = {"prompts": ("four-grades", "basic"), "models": ("similarity",)}
    with pytest.raises(Exception, match=message):
        run_to_end(lambda _stop: atune(collection, **{**settings, **changes}).plan())


def test_a_name_alone_is_a_list_of_it(collection: Collection) -> None:
    with pytest.raises(Misuse, match="one assessor alone cannot be the best"):
        tune(collection, prompts="four-grades", models=[assessor("good", 9)])


def test_people_s_pairs_that_are_left_out_are_counted_at_once_and_in_the_result(
    collection: Collection,
) -> None:
    human = collection.qrels("human")
    human.write_text(f"{human.read_text()}q0 0 gone 1\nq99 0 cats 2\n")
    rows = [
        HumanAnswer(Pair(query, document), grade, "ann", "", "", None if query == "q1" else 0.5)
        for query, row in read_qrels(human).items()
        for document, grade in row.items()
    ]
    with locked(collection):
        write_people(people_path(collection.folder, "human"), rows)
    said = list[str]()
    result = tune(
        collection,
        prompts=["four-grades"],
        models=[assessor("good", 9), assessor("poor", 2)],
        control=Control(said.append),
    )
    left_out = [line for line in said if "left out" in line]
    assert "2 pairs are left out, chosen for a person" in left_out[0]
    assert "2 pairs are left out: query or document not in the collection" in left_out[1]
    assert result.as_json()["warnings"][:2] == left_out
    assert "q1" not in result.split.chosen_by + result.split.held_out


def test_the_command_says_it_in_words_and_as_json(
    collection: Collection,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(collection.folder.parent)
    monkeypatch.setenv("COLUMNS", "80")
    words = ["lab", "tune", "coll", "--prompts", "four-grades,basic", "--models", "similarity"]
    assert execute([*words, "--dry-run"]) == 0
    assert "four-grades-similarity" in capsys.readouterr().out
    assert execute(words) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Of 2 assessors ")
    assert max(map(len, shown.splitlines())) <= 80
    assert execute([*words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    result = result[0] if isinstance(result, list) else result
    assert {"best", "held_out", "assessors", "rounds", "pairs_asked"} <= result.keys()


def test_a_command_that_its_budget_stops_says_so_and_ends_with_4(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer('{"grade": 1}', models=("m",)) as server:
        where = ["--base-url", server.base_url, "--models", "m", "--max-calls", "5"]
        words = ["lab", "tune", str(collection.folder), "--prompts", "four-grades,by-topic", *where]
        assert execute(words) == 4
    assert capsys.readouterr().out.startswith("Stopped before the queries held out were judged")


def test_a_prompt_with_examples_is_shown_none_of_the_queries_held_out(
    collection: Collection,
) -> None:
    shown = list[str]()

    def answer(request: Request) -> str:
        shown.append("\n".join(message.content for message in request.messages))
        return '{"grade": 1}'

    result = tune(
        collection, prompts=["few-shot"], models=[fake_model(answer, "a"), fake_model(answer, "b")]
    )
    held_out = {f"Query: number {query.removeprefix('q')} of them" for query in result.split[1]}
    examples = [re.findall("Query: .*(?=\n--- passage)", text)[:-1] for text in shown]
    assert all(examples)
    assert not held_out.intersection(line for lines in examples for line in lines)
