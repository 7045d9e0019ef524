"""`decide` and `compare --assessor`: two systems are told apart by few judgements."""

import csv
import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_compare import DOCUMENTS, QUERIES, write_collection

import labeler
from labeler.annotate.annotate import AnnotateOptions, rating_sessions
from labeler.annotate.export import export_answers
from labeler.annotate.samples import SampleChoice
from labeler.annotate.session import RaterAnswer
from labeler.cli import execute
from labeler.collection.judgements import states_of
from labeler.collection.layout import open_collection
from labeler.data import Pair
from labeler.errors import BadInput, Misuse
from labeler.evaluation.differences import Differences
from labeler.evaluation.draws import Draws
from labeler.judging.judge import JudgeOptions
from labeler.metrics import parse
from labeler.model import Request
from labeler.models.settings import Limits
from labeler.people.sample import route_sheet
from labeler.pipeline.compare import CompareOptions, compared_systems, result_of
from labeler.pipeline.decide import Decision, PeopleForecast
from labeler.testing import FakeServer, fake_model
from labeler.trec.files import read_qrels

MEASURE = "nDCG@3"
Asked = list[tuple[str, str]]
Decide = Callable[..., Decision]


@pytest.fixture
def coll(tmp_path: Path) -> Path:
    """Forty queries and three runs, of which nothing is judged; `d0` is relevant, nothing else."""
    folder = write_collection(tmp_path / "coll")
    (folder / "qrels/human.qrels").rename(tmp_path / "truth.qrels")
    return folder


@pytest.fixture
def asked() -> Asked:
    """The pairs that the assessor was asked about."""
    return []


@pytest.fixture
def decided(coll: Path, asked: Asked) -> Decide:
    """Decides between two runs, with an assessor that is right."""

    def answer(request: Request) -> str:
        text = str(request.messages)
        query, doc = (re.search(words, text) for words in (r"what is (q\d+)", r"about (d\d)"))
        assert query
        assert doc
        asked.append((query[1], doc[1]))
        return json.dumps({"grade": 3 * (doc[1] == "d0")})

    def decide(new: str = "new", old: str = "old", **how: Any) -> Decision:
        limits, measure = how.pop("limits", Limits()), how.pop("measure", MEASURE)
        judging = JudgeOptions("basic", fake_model(answer), name="llm", limits=limits)
        return labeler.decide(coll, [old, new], measure, judging=judging, **how)

    return decide


def write_near(coll: Path) -> str:
    """A run that ranks the relevant document last at one query where `old` has it first."""
    old = (coll / "runs/old.trec").read_text()
    near = old.replace(" Q0 d0 0 9 t", " Q0 d0 9 1 t", 1)
    (coll / "runs/near.trec").write_text(near)
    return next(a for a, b in zip(old.splitlines(), near.splitlines(), strict=True) if a != b)[:3]


def exact(coll: Path, new: str = "new", measure: str = MEASURE) -> float:
    """The difference with all first documents of both judged."""
    truth = (coll.parent / "truth.qrels").read_text().replace(" 1\n", " 3\n")
    (coll / "qrels/truth.qrels").write_text(truth)
    options = CompareOptions((measure,), "truth")
    difference = result_of(compared_systems(coll, ["old", new], options)).comparison.difference
    (coll / "qrels/truth.qrels").unlink()
    return difference


def test_two_systems_are_told_apart_by_a_part_of_the_judgements(
    coll: Path, decided: Decide, asked: Asked
) -> None:
    for new, verdict, line in [("new", "better", "take new"), ("bad", "worse", "keep old")]:
        asked.clear()
        decision, difference = decided(new), exact(coll, new)
        assert decision.verdict == verdict
        assert decision.sentences[0].startswith(f"Which: {line}")
        assert "llm.compared's grades, unchecked" in decision.sentences[0]
        assert decision.look.low <= difference <= decision.look.high
        assert decision.look.low <= decision.look.difference <= decision.look.high
        assert 0 < len(asked) <= decision.look.judged < decision.pairs
        assert decision.look.drawn < len(QUERIES)


@pytest.mark.parametrize("measure", ["P@3", "P@2", "RR@3", "RR(rel=2)@2", "Success@1"])
def test_measures_with_bounds_decide_by_a_part_of_the_judgements(
    coll: Path, decided: Decide, asked: Asked, measure: str
) -> None:
    decision, difference = decided("bad", measure=measure), exact(coll, "bad", measure)
    assert decision.look.low - 1e-9 <= difference <= decision.look.high + 1e-9
    assert decision.verdict == ("worse" if difference < 0 else "as good")
    assert decision.sentences[0].endswith(f"{measure} by llm.compared's grades, unchecked.")
    assert len({*asked}) == len(asked) < len(QUERIES) * 4


def test_what_is_asked_lies_beside_pools_in_the_set_that_comparisons_fill(
    coll: Path, decided: Decide, asked: Asked
) -> None:
    decision = decided()
    assert not (coll / "pool.jsonl").exists()
    assert {tuple(pair) for pair, _ in states_of(coll / "judgements/llm.compared.jsonl")} == {
        *asked
    }
    card = json.loads((coll / "card.json").read_text())
    noted = card["decide"][f"llm.compared of old and new by {MEASURE}, seed 0"]
    assert len(noted["queries_drawn"]) == decision.look.drawn
    assert {query for query, _ in asked} <= {*noted["queries_drawn"]}


def test_made_again_it_asks_nothing_and_decides_alike(decided: Decide, asked: Asked) -> None:
    first = decided()
    pairs = len(asked)
    assert decided().look == first.look
    assert len(asked) == pairs


def test_stopped_at_a_budget_it_goes_on_to_the_same_decision(
    decided: Decide, asked: Asked, coll: Path
) -> None:
    stopped = decided("bad", limits=Limits(max_calls=30))
    assert stopped.verdict == "not known yet"
    assert stopped.stopped
    assert len(asked) == 30
    assert stopped.look.low < exact(coll, "bad") < stopped.look.high
    assert "not known yet: " in stopped.sentences[0]
    whole = decided("bad")
    assert whole.verdict == "worse"
    assert len(asked) == len({*asked}) == whole.look.judged


def test_within_a_margin_two_are_as_good_and_with_all_judged_the_difference_is_exact(
    coll: Path, decided: Decide
) -> None:
    write_near(coll)
    assert decided("near", margin=0.3).verdict == "as good"
    to_end = decided("near", margin=0.0001)
    difference = exact(coll, "near")
    assert difference < 0
    assert to_end.look.low == pytest.approx(difference)
    assert to_end.look.high == pytest.approx(difference)
    assert to_end.look.difference == pytest.approx(difference)
    copy = decided("old", old="again=old")
    assert (copy.verdict, copy.open, copy.look.drawn) == ("as good", 0, 0)


def test_people_s_grades_count_first_and_are_asked_for_nowhere(
    coll: Path, decided: Decide, asked: Asked
) -> None:
    truth = (coll.parent / "truth.qrels").read_text().replace(" 1\n", " 3\n").splitlines()
    some = [line for line in truth if int(line[1:3]) < 20]
    (coll / "qrels/human.qrels").write_text("\n".join([*some, ""]))
    decision = decided("bad", margin=0.0001)
    assert decision.verdict == "worse"
    assert {query for query, _ in asked} <= {*QUERIES[20:]}
    assert "people's grades (human), with llm.compared's in the holes" in decision.sentences[0]


def test_what_neither_returns_counts_in_the_ideal_and_with_all_judged_nobody_is_asked(
    coll: Path, decided: Decide, asked: Asked
) -> None:
    draw = random.Random(5)
    grades = [f"{q} 0 {d} {draw.choice([0, 0, 1, 3])}\n" for q in QUERIES for d in DOCUMENTS]
    (coll / "qrels/human.qrels").write_text("".join(grades))
    decision = decided(margin=0.0001)
    compared = labeler.compare(coll, ["old", "new"], MEASURE).comparison
    assert decision.look.low == pytest.approx(compared.difference)
    assert decision.look.high == pytest.approx(compared.difference)
    assert not asked
    assert "by people's grades (human)." in decision.sentences[0]


def test_it_goes_on_beside_qrels_of_any_name(coll: Path, decided: Decide, asked: Asked) -> None:
    truth = (coll.parent / "truth.qrels").read_text().splitlines(keepends=True)
    (coll / "qrels/trec.qrels").write_text("".join(truth[:80]))
    stopped = decided(limits=Limits(max_calls=10))
    assert stopped.stopped
    whole = decided()
    assert "by trec's grades, with llm.compared's in the holes" in whole.sentences[0]
    assert len(asked) == len({*asked}) == whole.look.judged
    assert labeler.compare(coll, ["old", "new"], MEASURE).report.grades.name == "trec"


def test_grades_beyond_the_prompt_s_scale_count_as_they_are(coll: Path, decided: Decide) -> None:
    grades = "".join(f"{q} 0 {d} {5 * (d == 'd0')}\n" for q in QUERIES[:30] for d in DOCUMENTS)
    (coll / "qrels/llm.compared.qrels").write_text(grades)
    assert decided().verdict == "better"


def test_what_no_judgement_would_decide_is_not_paid_for(
    coll: Path, decided: Decide, asked: Asked
) -> None:
    (coll / "runs/gpt-4.trec").write_text((coll / "runs/new.trec").read_text())
    judging = JudgeOptions("basic", "gpt-4.1-mini", name="llm")
    with pytest.raises(Misuse, match="circular: gpt-4 and the assessor gpt-4"):
        labeler.decide(coll, ["old", "gpt-4"], MEASURE, judging=judging)
    human, card = coll / "qrels/human.qrels", coll / "card.json"
    human.write_text("q00 0 d0 1\n")
    card.write_text('{"fetch": {"grades": {"no": 0, "yes": 1}}}')
    with pytest.raises(BadInput, match="up to 1, the prompt basic up to 3: not one scale"):
        decided()
    human.unlink()
    card.unlink()
    queries = coll / "queries.jsonl"
    queries.write_text("".join(queries.read_text().splitlines(keepends=True)[:6]))
    few = decided()
    assert (few.verdict, few.look.judged) == ("not known", 0)
    assert "6 queries are too few (at least 10)" in few.sentences[0]
    (coll / "runs/other.trec").write_text("x00 Q0 d0 1 1 t\n")
    with pytest.raises(BadInput, match="share no query"):
        decided("other")
    assert not asked


def test_grades_by_another_prompt_decide_nothing(coll: Path, decided: Decide, asked: Asked) -> None:
    decided()
    asked.clear()
    judging = JudgeOptions("four-grades", fake_model('{"grade": 3}'), name="llm")
    with pytest.raises(Misuse, match=r"was judged with basic@\w+, not with four-grades@"):
        labeler.decide(coll, ["old", "new"], MEASURE, judging=judging)
    assert not asked


def test_queries_that_a_run_lacks_count_0_and_are_told(coll: Path, decided: Decide) -> None:
    lines = (coll / "runs/old.trec").read_text().splitlines(keepends=True)
    few = [line for line in lines if not line.startswith(("q00 ", "q01 "))]
    (coll / "runs/few.trec").write_text("".join(few))
    findings = [finding.text for finding in decided(old="few").findings]
    assert f"few: 2 of {len(QUERIES)} queries missing from the run; counted as 0" in findings
    assert not [text for text in findings if text.startswith("new: ")]


def test_the_price_is_that_of_the_assessor_itself(coll: Path, decided: Decide) -> None:
    (coll / "pool.jsonl").write_text('{"query_id": "q00", "doc_id": "d0"}\n')
    labeler.judge(coll, model=fake_model('{"grade": 2}'), name="another")
    stopped = decided(limits=Limits(max_calls=10))
    assert "by llm.compared, as it has cost so far" in stopped.sentences[2]


def test_a_panel_is_asked_about_nothing_and_names_no_price(coll: Path) -> None:
    (coll / "pool.jsonl").write_text('{"query_id": "q00", "doc_id": "d0"}\n')
    for name in ("one", "two"):
        labeler.judge(coll, model=fake_model('{"grade": 2}'), name=name)
    assert execute(["lab", "panel", str(coll), "one", "two", "--as", "both"]) == 0
    compared = labeler.compare(coll, ["old", "new"], qrels="one")
    assert "by one, as it has cost so far" in compared.surer
    assert "both" not in compared.surer


def test_failed_pairs_leave_the_difference_open_and_are_not_asked_for_twice(coll: Path) -> None:
    calls = []

    def refuse(request: Request) -> str:
        calls.append(request)
        return "I will not."

    judging = JudgeOptions("basic", fake_model(refuse), name="llm")
    with pytest.raises(labeler.LabelerError, match="none of the first pairs has a grade"):
        labeler.decide(coll, ["old", "new"], MEASURE, judging=judging)
    assert len(calls) < 200


def test_where_one_pair_failed_the_others_of_its_query_are_judged(coll: Path) -> None:
    for name, order in (("one", "d0 d1 d2"), ("two", "d0 d2 d1")):
        lines = [f"{q} Q0 {d} 1 {9 - n} t\n" for q in QUERIES for n, d in enumerate(order.split())]
        (coll / f"runs/{name}.trec").write_text("".join(lines))

    def answer(request: Request) -> str:
        text = str(request.messages)
        is_failed = "what is q00" in text and "about d1" in text
        return "I will not." if is_failed else json.dumps({"grade": 3 * ("about d0" in text)})

    judging = JudgeOptions("basic", fake_model(answer), name="llm")
    decision = labeler.decide(coll, ["one", "two"], MEASURE, judging=judging, margin=0.0001)
    assert decision.verdict == "not known yet"
    assert not decision.stopped
    judged = {tuple(pair) for pair, _ in states_of(coll / "judgements/llm.compared.jsonl")}
    assert {doc for query, doc in judged if query == "q00"} == {"d0", "d1", "d2"}
    assert {doc for query, doc in judged if query == "q01"} == {"d1", "d2"}


@pytest.mark.parametrize("measure", ["nDCG@5", "P@5", "RR@5", "Success@2"])
@pytest.mark.parametrize("cases", [5, pytest.param(200, marks=pytest.mark.sweep)])
def test_decisions_are_wrong_in_less_than_one_of_twenty_whatever_is_drawn(
    cases: int, measure: str
) -> None:
    draw, wrong, shares = random.Random(3), 0, []
    differences = Differences(parse(measure), 1)
    for case in range(cases):
        grades, documents = {}, {}
        for query in map(str, range(16)):
            docs = [f"d{n}" for n in range(8)]
            grades[query] = {doc: int(draw.random() < 0.4) for doc in docs}
            lists = [draw.sample(docs, 5) for _ in range(2)]
            documents[query] = differences.documents(*lists)
        draws = Draws(differences, documents, {}, f"{case}")
        truth = draws.look(grades, 16)
        assert truth.low == pytest.approx(truth.high)
        for drawn in range(17):
            known = {query: grades[query] for query in draws.order[:drawn]}
            look = draws.look(known, drawn)
            if verdict := look.verdict(0.02):
                break
        right = {"better": truth.low > 0, "worse": truth.low < 0, "as good": abs(truth.low) <= 0.02}
        wrong += not right[verdict]
        shares.append(look.judged / truth.judged)
    assert wrong / cases <= 0.05
    assert min(shares) < 1


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ({"measure": "R@10"}, "so many relevant documents as nobody knows of decide it"),
        ({"systems": ["old", "new", "bad"]}, "a decision is between two systems"),
        ({"judging": JudgeOptions(model="similarity")}, "name the assessor who judges"),
    ],
)
def test_what_cannot_be_decided_is_said_at_once(
    coll: Path, how: dict[str, Any], problem: str
) -> None:
    judging = JudgeOptions(model=fake_model("{}"), name="llm")
    with pytest.raises(Misuse, match=problem):
        labeler.decide(coll, **{"systems": ["old", "new"], "judging": judging, **how})


def test_the_command_ends_with_3_where_failed_pairs_leave_it_open(
    coll: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(coll.parent)
    Path("assessors").mkdir()

    def answer(call: Any) -> str:
        text = str(call.body)
        is_failed = f"what is {query}" in text and "about d0" in text
        return "I will not." if is_failed else json.dumps({"grade": 3 * ("about d0" in text)})

    query = write_near(coll)
    with FakeServer(answer) as server:
        Path("assessors/llm.toml").write_text(
            f'model = "fake"\nserver = "{server.base_url}"\nprompt = "basic"\n'
        )
        assert execute(["trust", server.base_url]) == 0
        command = ["compare", "coll", "old", "near", "-m", MEASURE, "--assessor", "llm"]
        assert execute([*command, "--margin", "0.0001"]) == 3
        said = capsys.readouterr()
        assert "Which: not known yet: some pairs have no grade" in said.out
        assert "not known yet, as some pairs have no grade" in said.err
    every = [{"query_id": query, "doc_id": doc} for query in QUERIES for doc in DOCUMENTS]
    Path("coll/pool.jsonl").write_text("".join(f"{json.dumps(pair)}\n" for pair in every))
    assert execute(["status", "coll"]) == 0
    shown = capsys.readouterr().out
    assert f"pool: {len(every):,} pairs" in shown
    assert "failed, 0 of the pool not asked yet" in shown
    assert "to go on: the same labeler compare again" in shown


def test_the_command_asks_a_declared_assessor_and_stops_at_its_budget(
    coll: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(coll.parent)
    Path("assessors").mkdir()
    command = ["compare", "coll", "old", "new", "-m", MEASURE, "--assessor", "llm"]

    def answer(call: Any) -> str:
        return json.dumps({"grade": 3 * ("about d0" in str(call.body))})

    with FakeServer(answer) as server:
        Path("assessors/llm.toml").write_text(
            f'model = "fake"\nserver = "{server.base_url}"\nprompt = "basic"\n'
        )
        assert execute(["trust", server.base_url]) == 0
        assert execute([*command, "--dry-run"]) == 0
        assert not server.calls
        assert "pairs       2" in capsys.readouterr().out
        assert execute([*command, "--max-calls", "10"]) == 4
        assert "Which: not known yet" in capsys.readouterr().out
        assert execute([*command, "--margin", "0.01", "--json"]) == 0
        figures = json.loads(capsys.readouterr().out)
        assert (figures["verdict"], figures["margin"]) == ("better", 0.01)
        assert len(server.calls) < figures["pairs"] / 2
        assert execute([*command, "--margin", "AP:0.01"]) == 2
        assert f"the decision is by {MEASURE}, the margin is not" in capsys.readouterr().err
        assert execute([*command, "-m", "AP"]) == 2
        assert "--measure: a decision is by one measure" in capsys.readouterr().err
        assert execute([*command, "--policy", "sequential"]) == 2
        assert "gates and pages need all grades" in capsys.readouterr().err
        (coll / "qrels/human.qrels").write_text("".join(f"{q} 0 d0 3\n" for q in QUERIES))
        assert execute([*command, "--fill", "llm", "--max-calls", "3"]) == 4
        assert "stopped at 3 calls" in capsys.readouterr().err
        assert execute([*command, "--no-worse-than", "old"]) == 2
        assert "--fill" in capsys.readouterr().err


def grade_sheet(sheet: Path, truth: Callable[[str, str], int]) -> list[tuple[str, str]]:
    """Fill in a sheet; the pairs on it."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["grade"] = str(truth(row["query_id"], row["doc_id"]))
        row["assessor"] = "ann"
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return [(row["query_id"], row["doc_id"]) for row in rows]


def by_people(coll: Path, new: str, margin: float = 0.05) -> tuple[Decision, list[tuple[str, str]]]:
    """Decide by people who are right, sheet for sheet; what they graded."""
    sheet, graded = coll.parent / "next.csv", list[tuple[str, str]]()
    while True:
        how = {"sheet": sheet, "margin": margin}
        decision = labeler.decide(coll, ["old", new], MEASURE, **how)  # type: ignore[arg-type]
        if not sheet.exists():
            assert decision.sheet is None
            return decision, graded
        assert decision.sheet
        assert decision.verdict == "not known yet"
        more = grade_sheet(sheet, lambda _query, doc: 3 * (doc == "d0"))
        assert decision.sheet.pairs == len(more)
        assert decision.sheet.queries == len({query for query, _ in more})
        graded += more
        assert execute(["people", "import", str(sheet), str(coll), "--as", "human"]) == 0
        sheet.unlink()


def truth(_query: str, doc: str) -> int:
    """What people grade."""
    return 3 * (doc == "d0")


@pytest.mark.parametrize("is_right", [True, False])
def test_an_assessor_forecasts_people_whose_grades_alone_decide(
    coll: Path, asked: Asked, is_right: bool
) -> None:
    def answer(request: Request) -> str:
        query, doc = re.findall(r"what is (q\d+)|about (d\d)", str(request.messages))[-2:]
        asked.append((query[0], doc[1]))
        return json.dumps({"grade": truth("", doc[1]) if is_right else 3 * (doc[1] == "d4")})

    sheet, judging = coll.parent / "next.csv", JudgeOptions("basic", fake_model(answer), name="llm")
    write_near(coll)
    difference, graded, pilot = exact(coll, "bad"), list[tuple[str, str]](), 0
    while True:
        decision = labeler.decide(
            coll, ["old", "bad"], MEASURE, sheet=sheet, margin=0.001, judging=judging
        )
        assert decision.look.low <= difference <= decision.look.high
        if not sheet.exists():
            break
        if (forecast := decision.forecast) and not pilot:
            pilot = len(asked)
            assert {query for query, _ in graded} >= {query for query, _ in asked[: 10 * 3]}
            assert forecast.pairs == 0 or forecast.with_it >= forecast.without
            assert decision.likely == (forecast.without if forecast.pairs else forecast.with_it)
        elif not forecast:
            assert not asked
        graded += grade_sheet(sheet, truth)
        assert execute(["people", "import", str(sheet), str(coll), "--as", "human"]) == 0
        sheet.unlink()
    assert decision.verdict == "worse"
    assert decision.sentences[0].endswith("by people's grades (human).")
    assert len(asked) == len({*asked})
    assert decision.look.judged == len({*graded})
    card = json.loads((coll / "card.json").read_text())["decide"][
        f"human of old and bad by {MEASURE}, seed 0"
    ]
    is_whole = len(asked) >= 3 * len(QUERIES)
    assert (card["forecast_since"] is not None) == is_whole
    assert not is_whole or 10 <= card["forecast_since"] < decision.look.drawn
    assert len(card["queries_drawn"]) == decision.look.drawn
    if not is_whole:
        return
    # what other forecasts say of queries that were drawn before they were there counts for nothing
    text = (coll / "card.json").read_text()
    (coll / "card.json").write_text(text.replace(card["forecasts"], "of others"))
    how = {"people": "human", "margin": 0.001, "judging": judging}
    labeler.decide(coll, ["old", "bad"], MEASURE, **how)  # type: ignore[arg-type]
    cards = json.loads((coll / "card.json").read_text())["decide"]
    assert len(cards) == 1
    again = next(iter(cards.values()))
    assert again["forecast_since"] == len(card["queries_drawn"]) > card["forecast_since"]
    assert again["forecasts"] == card["forecasts"]


def test_people_may_grade_what_is_next_on_the_page(coll: Path) -> None:
    brought = {QUERIES[0]: {"d0": 3}}
    (coll / "qrels/human.qrels").write_text(f"{QUERIES[0]} 0 d0 3\n")
    sheet = coll.parent / "next.csv"
    first = labeler.decide(coll, ["old", "bad"], MEASURE, sheet=sheet)
    assert first.sheet
    choice = SampleChoice(sample=first.sheet.id)
    (session,) = rating_sessions(coll, AnnotateOptions(("ann",), choice))
    for _ in range(first.sheet.pairs):
        session.answer(RaterAnswer(session.state()["item"]["id"], grade=0))
    exported = export_answers(coll, "ann", sample=first.sheet.id)
    assert (exported.name, exported.graded) == ("human", first.sheet.pairs)
    qrels = read_qrels(coll / "qrels/human.qrels").as_dict()
    assert sum(map(len, qrels.values())) == first.sheet.pairs + len(brought)
    second = labeler.decide(coll, ["old", "bad"], MEASURE, people="human")
    assert second.look.judged == first.sheet.pairs


def test_forecasts_are_asked_for_where_they_spare_people_more_than_they_cost() -> None:
    forecast = PeopleForecast("gpt", 60, 100, 300, 2.0)
    assert forecast.is_worth(None)
    assert forecast.is_worth(0.06)
    assert not forecast.is_worth(0.05)
    assert not replace(forecast, with_it=100).is_worth(None)
    assert str(forecast) == (
        "people alone; forecasts by gpt would leave about 60 pairs to them, not 100, for $2.00"
    )


def test_what_forecasts_spare_is_seen_before_and_after_they_are_there() -> None:
    draw, differences = random.Random(1), Differences(parse("P@5"), 1)
    grades, documents = {}, {}
    for query in map(str, range(300)):
        docs = [f"d{n}" for n in range(9)]
        documents[query] = differences.documents(docs[:5], docs[4:])
        grades[query] = {doc: int(draw.random() < 0.4) for doc in docs}
    alone = Draws(differences, documents, {}, "order")
    some = {query: grades[query] for query in alone.order[:30]}
    foreseen = replace(alone, forecasts=grades, since=30)
    without, pilot = (alone.likely(some, 0.02, by) for by in ({}, some))
    known = foreseen.likely(some, 0.02, grades)
    assert without
    assert pilot
    assert known
    assert max(known, pilot) < without
    assert alone.likely({query: some[query] for query in alone.order[:9]}, 0.02, {}) is None
    looks = [
        (of.look(by, len(by)), of.look(some, 30))
        for of in (alone, foreseen)
        for by in [{q: grades[q] for q in alone.order[:150]}]
    ]
    assert looks[0][1] == replace(looks[1][1], difference=looks[0][1].difference)
    assert looks[1][0].high - looks[1][0].low < looks[0][0].high - looks[0][0].low


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ({"people": "labels.qrels"}, "labels.qrels is no set of .*; import it first, as labels"),
        ({"people": "llm"}, "holds grades of a model, and people's decide"),
        ({"people": "human", "qrels": "human"}, "people's grades alone decide"),
        ({}, "name the assessor who judges"),
    ],
)
def test_whose_grades_are_people_s_is_checked(
    coll: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, str], problem: str
) -> None:
    monkeypatch.chdir(coll.parent)
    Path("labels.qrels").write_text("q00 0 d0 1\n")
    (coll / "pool.jsonl").write_text('{"query_id": "q00", "doc_id": "d0"}\n')
    labeler.judge(coll, model=fake_model('{"grade": 2}'), name="llm")
    with pytest.raises(Misuse, match=problem):
        labeler.decide(coll, ["old", "new"], MEASURE, **how)  # type: ignore[arg-type]


def test_people_decide_by_few_grades_sheet_for_sheet(coll: Path) -> None:
    difference = exact(coll, "bad")
    decision, graded = by_people(coll, "bad")
    assert decision.verdict == "worse"
    assert decision.look.low <= difference <= decision.look.high
    assert len(graded) == len({*graded}) == decision.look.judged < decision.pairs
    assert "by people's grades (human)" in decision.sentences[0]


def test_a_sheet_is_written_only_where_something_is_left_to_decide(coll: Path) -> None:
    """Whatever the margin is, that of the looks on the way among them."""
    by_people(coll, "new", margin=0.0001)
    (coll / "people/human.jsonl").rename(coll / "people/all.jsonl")
    rows = (coll / "people/all.jsonl").read_text().splitlines(keepends=True)
    for some in range(1, len(rows), 3):
        (coll / "people/human.jsonl").write_text("".join(rows[:some]))
        graded = [json.loads(row) for row in rows[:some]]
        lines = (f"{row['query_id']} 0 {row['doc_id']} {row['grade']}\n" for row in graded)
        (coll / "qrels/human.qrels").write_text("".join(lines))
        for margin in (0.05, 0.2, 0.5):
            sheet = coll.parent / f"{some}-{margin}.csv"
            decision = labeler.decide(coll, ["old", "new"], MEASURE, sheet=sheet, margin=margin)
            assert (decision.verdict == "not known yet") == sheet.exists() == bool(decision.sheet)


def test_an_imported_sheet_is_replaced_by_the_next_and_what_was_skipped_blocks_nothing(
    coll: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = coll.parent / "next.csv"
    command = ["compare", str(coll), "old", "new", "-m", MEASURE, "--sheet", str(sheet)]
    assert execute(command) == 3
    first = grade_sheet(sheet, lambda _query, _doc: 0)
    text = sheet.read_text(encoding="utf-8")
    sheet.write_text(text.replace(",0,0 =", ",,0 =", len(first) - 1), encoding="utf-8")
    capsys.readouterr()
    assert execute(command) == 2
    assert "name another file" in capsys.readouterr().err  # its one grade is nowhere else
    assert execute(["people", "import", str(sheet), str(coll), "--as", "human"]) == 0
    assert f"1 grade; {len(first) - 1} rows skipped" in capsys.readouterr().out
    assert execute(command) == 3
    second = grade_sheet(sheet, lambda _query, doc: 3 * (doc == "d0"))
    assert len({*second} - {*first}) >= 20
    assert len({*first} & {*second}) == len(first) - 1
    assert execute([*command, "--dry-run"]) == 2
    assert "no model is asked" in capsys.readouterr().err


def test_people_s_grades_come_to_the_exact_difference_and_that_of_compare(coll: Path) -> None:
    write_near(coll)
    ranked = (coll / "runs/old.trec").read_text().split("\n")[:3]
    other = min({*DOCUMENTS[1:]} - {line.split()[2] for line in ranked})
    sheet = coll.parent / "next.csv"
    extra = [Pair(QUERIES[0], other)]  # relevant, too, and returned by neither
    route_sheet(open_collection(coll), extra, sheet, {"source": None})
    grade_sheet(sheet, lambda _query, _doc: 3)
    assert execute(["people", "import", str(sheet), str(coll), "--as", "human"]) == 0
    sheet.unlink()
    decision, graded = by_people(coll, "near", margin=0.0001)
    scored = {QUERIES[0], *(query for query, _ in graded)}
    compared = labeler.compare(coll, ["old", "near"], MEASURE).comparison
    assert decision.look.low == pytest.approx(decision.look.high)
    # queries that nobody judged differ by nothing, as both systems rank alike there
    every = compared.difference * len(scored) / len(QUERIES)
    assert decision.look.low == pytest.approx(every)


def test_sheets_add_to_qrels_that_people_brought_along(coll: Path) -> None:
    brought = {QUERIES[0]: {"d0": 3, "d1": -1}, QUERIES[1]: {"d0": 3, "d5": 2}}
    lines = [f"{q} 0 {doc} {g}\n" for q, row in brought.items() for doc, g in row.items()]
    (coll / "qrels/human.qrels").write_text("".join(lines))
    (coll / "pool.jsonl").write_text(f'{{"query_id": "{QUERIES[1]}", "doc_id": "d0"}}\n')
    decision, graded = by_people(coll, "bad")
    assert decision.verdict == "worse"
    assert graded
    assert not {*graded} & {(QUERIES[0], "d0"), (QUERIES[1], "d0")}
    assert decision.look.judged == len({*graded})  # of those that nobody had judged before
    qrels = read_qrels(coll / "qrels/human.qrels").as_dict()
    assert qrels[QUERIES[1]]["d5"] == 2
    assert {(q, doc) for q, row in qrels.items() for doc in row} >= {*graded}
    assert sum(map(len, qrels.values())) == len(
        {*graded, *((q, d) for q in brought for d in brought[q])}
    )
    sheet = coll.parent / "other.csv"
    pairs = [Pair(QUERIES[1], "d5")]
    route_sheet(open_collection(coll), pairs, sheet, {"source": "human"})
    grade_sheet(sheet, lambda _query, _doc: 0)
    command = ["people", "import", str(sheet), str(coll), "--as", "human"]
    assert execute(command) == 65
    assert execute([*command, "--replace"]) == 0
    assert read_qrels(coll / "qrels/human.qrels")[QUERIES[1]]["d5"] == 0
    labeler.judge(coll, model=fake_model('{"grade": 2}'), name="llm")
    assert "chosen for a person to grade" in str(labeler.agree(coll, "human", "llm").as_json())


def test_what_people_brought_along_narrows_the_bounds_before_any_draw(coll: Path) -> None:
    (coll / "qrels/human.qrels").write_text("".join(f"{q} 0 d0 3\n" for q in QUERIES[::2]))
    some = labeler.decide(coll, ["old", "new"], MEASURE, people="human")
    (coll / "qrels/human.qrels").unlink()
    none = labeler.decide(coll, ["old", "new"], MEASURE, people="human")
    assert none.look.low < some.look.low < some.look.high < none.look.high
    assert some.pairs < none.pairs


def test_people_s_grades_are_not_added_to_a_model_s(
    coll: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (coll / "pool.jsonl").write_text('{"query_id": "q00", "doc_id": "d0"}\n')
    labeler.judge(coll, model=fake_model('{"grade": 2}'), name="llm")
    command = ["compare", str(coll), "old", "new", "-m", MEASURE, "--sheet"]
    assert execute([*command, str(coll.parent / "a.csv"), "--people", "llm"]) == 2
    assert "llm.qrels holds grades of a model" in capsys.readouterr().err
    sheet = coll.parent / "a.csv"
    assert execute([*command, str(sheet), "--people", "ann", "--qrels", "llm"]) == 2
    assert execute([*command, str(sheet), "--people", "a b"]) == 2
    assert "--people: the name 'a b'" in capsys.readouterr().err
    assert not sheet.exists()
    capsys.readouterr()
    assert execute([*command, str(sheet), "--people", "ann"]) == 3
    shown = capsys.readouterr()
    assert re.search(r"people's grades of \d+ pairs of \d+ queries", shown.out)
    assert "not known yet; people grade" in shown.err
    assert f"labeler people import {sheet} {coll} --as ann" in shown.err
    grade_sheet(sheet, lambda _query, doc: 3 * (doc == "d0"))
    assert execute(["people", "import", str(sheet), str(coll), "--as", "ann"]) == 0
    assert "next: the same labeler compare" in capsys.readouterr().err
