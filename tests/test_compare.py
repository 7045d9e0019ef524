"""`compare`: two systems, a decision in three lines, its page, its gates, and holes filled."""

import json
import random
import re
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import chromium

import labeler
from labeler.cli import execute
from labeler.collection.user_files import Output, collection_qrels
from labeler.evaluation.equivalence import bounds
from labeler.evaluation.evaluate import report_on
from labeler.evaluation.inputs import runs_from
from labeler.evaluation.options import EvaluationOptions
from labeler.evaluation.scores import intervals
from labeler.evaluation.verdicts import as_people_grade, merged_grades
from labeler.judging.judge import JudgeOptions
from labeler.metrics import parse
from labeler.pipeline.compare import SystemComparison
from labeler.pipeline.decision import decision_page
from labeler.testing import fake_model
from labeler.trec.pairs import PairColumns

QUERIES = [f"q{n:02}" for n in range(40)]
DOCUMENTS = [f"d{n}" for n in range(8)]
MEASURE = "nDCG@3"


def write_collection(folder: Path, *, judged: int = 8) -> Path:
    """Forty queries and three runs; people judged the first documents by number."""
    for name in ("runs", "qrels"):
        (folder / name).mkdir(parents=True)
    rows = [{"_id": d, "title": f"The title of {d}", "text": f"about {d}"} for d in DOCUMENTS]
    (folder / "corpus.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    kinds = ("keyword", "question")
    rows = [
        {"_id": q, "text": f"what is {q}", "metadata": {"kind": kinds[n % 2], "top shelf": n < 3}}
        for n, q in enumerate(QUERIES)
    ]
    (folder / "queries.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    grades = "".join(
        f"{q} 0 {d} {int(n == 0)}\n" for q in QUERIES for n, d in enumerate(DOCUMENTS[:judged])
    )
    (folder / "qrels/human.qrels").write_text(grades)
    draw = random.Random(1)
    for name, good in {"old": 0.3, "new": 0.9, "bad": 0.0}.items():
        lines = []
        for query in QUERIES:
            ranked = draw.sample(DOCUMENTS[1:], 5)
            ranked.insert(0 if draw.random() < good else 5, DOCUMENTS[0])
            lines += [f"{query} Q0 {d} {n} {9 - n} t\n" for n, d in enumerate(ranked)]
        (folder / f"runs/{name}.trec").write_text("".join(lines))
    return folder


@pytest.fixture
def coll(tmp_path: Path) -> Path:
    return write_collection(tmp_path / "coll")


def both(coll: Path, **how: Any) -> SystemComparison:
    return labeler.compare(coll, {"old": "old", "new": "new"}, MEASURE, **how)


def test_three_lines_say_which_how_sure_and_what_would_help(coll: Path) -> None:
    which, sure, surer = both(coll).sentences
    assert which.startswith("Which: take new: nDCG@3 of new is 0.9")
    assert which.endswith("over 40 queries, by people's grades (human).")
    assert sure.startswith("How sure: new against old: gains at least 0.")
    assert "What would make it surer: all of it is judged" in surer


def test_the_loser_is_kept_out_and_two_alike_are_told_as_such(coll: Path) -> None:
    turned = labeler.compare(coll, {"new": "new", "old": "old"}, MEASURE)
    assert turned.which.startswith("keep new:")
    assert "loses at least" in turned.how_sure
    same = labeler.compare(coll, {"old": "old", "again": coll / "runs/old.trec"}, MEASURE)
    assert same.which.startswith("neither is shown to be better than the other:")
    assert same.surer == "nothing, as the first 3 documents of both are the same."


def test_a_comparison_is_the_same_whatever_other_runs_there_are(
    coll: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["compare", str(coll), "old", "new", "-m", MEASURE]
    page = coll.parent / "page.html"
    outputs = []
    for company in ("few", "many"):
        if company == "many":
            for number in range(5):
                (coll / f"runs/more{number}.trec").write_bytes(
                    (coll / "runs/bad.trec").read_bytes()
                )
            (coll / "runs/worse.trec").write_text("q00 Q0 d7 1 1 t\n")
        assert execute([*asked, "--json", "--html", str(page), "--force"]) == 0
        outputs.append((capsys.readouterr().out, page.read_bytes()))
    assert outputs[0] == outputs[1]


def test_systems_are_files_names_of_runs_and_functions(coll: Path) -> None:
    best = both(coll)
    run = {q: {"d0": 1.0} for q in QUERIES}
    forms = {"new": lambda _query: ["d0"], "held": run, "file": coll / "runs/new.trec"}
    several = labeler.compare(coll, {"old": "old", **forms}, MEASURE)
    means = {scores.name: scores.means()[MEASURE].value for scores in several.report.runs}
    assert means["new"] == means["held"] == 1.0
    assert means["file"] == best.report.runs[1].means()[MEASURE].value


@pytest.mark.parametrize(
    ("systems", "problem"),
    [
        (["old"], "labeler: give two systems or more"),
        (["old", "new", "--person-price", "1"], "--people: name the people whose grade"),
        (["old", "nwe"], "nwe: no file, and no run of"),
        (["old", "old=new"], "labeler: 'old' is there twice"),
        (["old", "new=nobody:search"], "nobody"),
    ],
)
def test_what_is_no_system_is_said_in_a_line(
    systems: list[str], problem: str, coll: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["compare", str(coll), *systems]) in (2, 78)
    assert problem in capsys.readouterr().err


def test_what_nobody_judged_is_counted_and_no_system_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coll = write_collection(tmp_path / "coll", judged=2)
    result = both(coll)
    assert result.comparison.verdict == "not known"
    assert result.which.startswith("not known, because Judged@3 of old is 0.")
    assert result.how_sure.startswith("new against old: not at all, for that reason; by these")
    open_pairs = {
        (q.query.id, d.id) for q in result.queries for d in q.documents if d.grade is None
    }
    assert {*result.systems.missing} == open_pairs
    assert f"grades for the {len(open_pairs)} pairs among the first 3 documents" in result.surer
    assert execute(["compare", str(coll), "old", "new", "-m", MEASURE]) == 0
    said = capsys.readouterr()
    assert f"--fill ASSESSOR fills the {len(open_pairs)} pairs" in said.err
    asked = ["compare", str(coll), "old", "new", "-m", MEASURE, "--no-worse-than", "old"]
    assert execute(asked) == 6


def test_an_assessor_judges_only_what_is_missing_of_these_systems(tmp_path: Path) -> None:
    coll = write_collection(tmp_path / "coll", judged=2)
    before = both(coll)
    missing = {*before.systems.missing}
    grades = '{"grade": 0}'
    how = JudgeOptions(model=fake_model(grades), prompt="basic")
    after = both(coll, fill="llm", judging=how)
    lines = (coll / "qrels/llm.compared.qrels").read_text().split("\n")
    assert {(line.split()[0], line.split()[2]) for line in lines if line} == missing
    assert not after.systems.missing
    assert not (coll / "pool.jsonl").exists()
    assert after.comparison.verdict == "better by llm.compared's grades, unchecked"
    assert (
        "(at most 200 pairs by hand), as nobody checked the grades of llm.compared" in after.surer
    )
    counts = after.report.grades.counts
    assert counts == {"human": 80, "llm.compared": len(missing)}
    assert both(coll, fill="llm").sentences == after.sentences


def test_an_assessor_that_has_judged_nothing_is_not_missed_where_nothing_is_to_fill(
    coll: Path,
) -> None:
    assert both(coll, fill="gpt").sentences == both(coll).sentences


def test_grades_for_comparisons_are_no_other_set_to_choose_from(coll: Path) -> None:
    grades = (coll / "qrels/human.qrels").rename(coll / "qrels/trec.qrels")
    (coll / "qrels/gpt.compared.qrels").write_text("q00 0 d1 1\n")
    assert collection_qrels(coll, None) == grades
    grades.unlink()
    assert collection_qrels(coll, None).name == "gpt.compared.qrels"


def test_evaluate_fills_holes_with_another_set_and_says_whose_grades_count(
    coll: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = (coll / "qrels/human.qrels").read_text()
    some = [line for line in whole.splitlines(keepends=True) if line.split()[2] in ("d0", "d1")]
    (coll / "qrels/human.qrels").write_text("".join(some))
    (coll / "qrels/llm.qrels").write_text(whole.replace("d0 1", "d0 0"))
    asked = ["evaluate", str(coll), "new", "-m", "P@1", "--fill", "llm"]
    assert execute([*asked, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["grades"]["counts"] == {"human": 80, "llm": 240}
    assert figures["runs"][0]["judged"]["Judged@1"] == 1.0
    assert execute(asked) == 0
    said = capsys.readouterr()
    assert "with llm's in the holes" in said.out
    assert "drawn as people grade what it grades so, by 72 pairs that both graded" in said.err
    assert execute([*asked[:-1], "nobody"]) == 2
    assert "--fill" in capsys.readouterr().err
    (coll / "qrels/human.qrels").write_text("".join(some[:20]))
    assert execute(asked) == 0
    assert "are as it gave them: too few of its pairs have people's" in capsys.readouterr().err


def test_holes_get_the_grades_that_people_give_to_what_an_assessor_grades_so() -> None:
    """An assessor that calls relevant what people do in four of ten cases."""
    rng = np.random.default_rng(0)
    truth = {f"q{n}": {f"d{d}": int(rng.random() < 0.4) for d in range(20)} for n in range(50)}
    own = PairColumns.of({q: dict(islice(row.items(), 5)) for q, row in truth.items()}, np.int32)
    other = PairColumns.of({q: dict.fromkeys(row, 1) for q, row in truth.items()}, np.int32)
    whole = PairColumns.of(merged_grades([own, other]), np.int32)
    ranks = np.array([int(doc[1:]) for (_, doc), _ in whole.by_pair()])
    first = np.flatnonzero(ranks < 10)
    filled, both = as_people_grade(whole, own, other, first)
    assert both == 250
    assert {pair: grade for pair, grade in filled.by_pair() if pair in dict(own.by_pair())} == dict(
        own.by_pair()
    )
    share = np.mean([row["d9"] + row["d15"] for row in filled.as_dict().values()]) / 2
    assert share == pytest.approx(np.mean(own.value), abs=0.15)  # two standard errors: .1
    turned = {q: dict(reversed(row.items())) for q, row in reversed(whole.as_dict().items())}
    again = PairColumns.of(turned, np.int32)  # in another order
    of_again = [int(doc[1:]) < 10 for (_, doc), _ in again.by_pair()]
    redrawn, _ = as_people_grade(again, own, other, np.flatnonzero(of_again))
    assert redrawn.as_dict() == filled.as_dict()
    few = PairColumns.of({"q0": own["q0"]}, np.int32)
    assert as_people_grade(whole, few, other, first) == (whole, 0)
    deep = np.flatnonzero(ranks >= 10)
    assert as_people_grade(whole, own, other, deep) == (whole, 0)


def test_a_lead_that_filled_holes_may_have_made_is_not_known(tmp_path: Path) -> None:
    """The new system has one document a query that people did not grade, and leads by it."""
    rng, ids = np.random.default_rng(0), [f"q{n}" for n in range(60)]
    people = {q: {f"d{d}": int(rng.random() < 0.5) for d in range(10)} for q in ids}
    llm = [f"{q} 0 {doc} {grade}\n" for q, row in people.items() for doc, grade in row.items()]
    llm += [f"{q} 0 own {int(rng.random() < 0.65)}\n" for q in ids]
    (tmp_path / "llm.qrels").write_text("".join(llm))
    old = {q: {f"d{d}": float(-d) for d in range(10)} for q in ids}
    new = {q: {**dict(islice(row.items(), 9)), "own": -10.0} for q, row in old.items()}
    runs, asked = {"old": old, "new": new}, {"measures": "P@10", "baseline": "old"}
    report = labeler.evaluate(people, runs, fill=str(tmp_path / "llm.qrels"), **asked)
    (lead,) = report.comparisons
    assert lead.by_test == "better"
    assert lead.low <= 0 < lead.difference
    assert lead.verdict == "not known"
    assert str(lead.doubt).startswith(
        "not known, because 10% of the first documents of new were holes that are filled; next: "
    )
    assert str(lead.doubt).endswith("--sheet holes.csv (about 1.0 pairs a query)")
    values = dict(zip(("old", "new"), report.runs, strict=True))
    reach = 0.1 * (0.1 + 600**-0.5)
    plain = intervals(replace(values["new"].scores, lean=0.0), 0)["P@10"]
    assert values["new"].means()["P@10"][1:] == pytest.approx((plain[0] - reach, plain[1] + reach))
    how = EvaluationOptions(
        ("P@10",), baseline="old", fill=str(tmp_path / "llm.qrels"), margins={"P@10": 0.03}
    )
    (margin,) = report_on(people, runs_from(runs, people), how).equivalences
    measure = parse("P@10")
    sides = [values[name].scores.of(measure) for name in ("new", "old")]
    low, high = bounds(*sides, measure)
    assert (margin.low, margin.high) == pytest.approx((low - reach, high + reach))


def test_grades_of_an_older_prompt_fill_no_hole_without_a_word(coll: Path) -> None:
    for name, prompt in (("llm", "four-grades@00000000"), ("llm.compared", "umbrela@00000000")):
        (coll / f"qrels/{name}.qrels").write_text("q00 0 d1 1\n")
        pair = {"query_id": "q00", "doc_id": "d1", "grade": 1, "status": "judged"}
        row = {**pair, "prompt": prompt, "asked": "m"}
        (coll / "judgements").mkdir(exist_ok=True)
        (coll / f"judgements/{name}.jsonl").write_text(json.dumps(row) + "\n")
    words = "\n".join(map(str, both(coll, fill="llm").findings))
    assert "grades of two prompts fill the holes: llm by four-grades@00000000 and" in words
    assert "llm was judged by an older prompt, four-grades@00000000; it is four-grades@" in words


def test_grades_that_another_set_holds_are_no_price(tmp_path: Path) -> None:
    coll = write_collection(tmp_path / "coll", judged=2)
    missing = both(coll).systems.missing
    lines = [f"{query} 0 {doc} 1\n" for query, doc in missing]
    (coll / "qrels/llm.qrels").write_text("".join(lines))
    asked = ["compare", str(coll), "old", "new", "-m", MEASURE, "--qrels", "human"]
    result = both(coll, qrels="human")
    assert f"that have none ({len(missing)} by llm are there)" in result.surer
    (coll / "qrels/llm.qrels").write_text("".join(lines[1:]))
    some = f"({len(missing) - 1} by llm are there, the others at no known price"
    assert some in both(coll, qrels="human").surer
    assert execute(asked) == 0


def test_what_excludes_nothing_is_no_bound(coll: Path) -> None:
    human = coll / "qrels/human.qrels"
    human.write_text("".join(human.read_text().splitlines(keepends=True)[:16]))
    run = {"q00": {"d0": 1.0}, "q01": {"d1": 1.0}}
    other = {"q00": {"d1": 1.0}, "q01": {"d0": 1.0}}
    result = labeler.compare(coll, {"old": run, "new": other}, "P@1")
    assert "by these grades alone these queries do not tell; better on 1 query" in result.how_sure
    assert "1.0000" not in result.how_sure


@pytest.mark.parametrize("columns", ["60", "80", "100"])
def test_no_terminal_is_so_narrow_that_a_verdict_is_cut(
    columns: str, coll: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    near = (coll / "runs/old.trec").read_text().replace(" Q0 d0 0 9 ", " Q0 d0 9 0 ", 6)
    (coll / "runs/near-by-a-long-name.trec").write_text(near)
    asked = ["compare", str(coll), "-m", MEASURE, "--no-worse-than", "old", "--margin", "0.05"]
    execute([*asked, "old", "near-by-a-long-name", "bad"])
    text = capsys.readouterr().out
    for verdict in ("worse", "not shown either way", "worse by more than the margin"):
        assert verdict in text


def test_a_doubt_is_never_beside_a_line_that_all_is_well(coll: Path) -> None:
    human = coll / "qrels/human.qrels"
    human.write_text("".join(human.read_text().splitlines(keepends=True)[:40]))
    result = both(coll)
    assert result.which == "not known, because 5 queries are too few (at least 10)."
    assert result.surer.startswith("labeler power ")
    assert "all of it is judged" not in result.surer


def test_a_gate_passes_fails_and_cannot_tell(
    coll: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["compare", str(coll), "-m", MEASURE, "--no-worse-than", "old", "old"]
    assert execute([*asked, "new"]) == 0
    assert execute([*asked, "bad", "--margin", "0.1"]) == 5
    assert "bad: nDCG@3 is " in capsys.readouterr().err
    near = (coll / "runs/old.trec").read_text().replace(" Q0 d0 0 9 ", " Q0 d0 9 0 ", 6)
    (coll / "runs/near.trec").write_text(near)
    assert execute([*asked, "near", "--margin", "0.12"]) == 6
    assert "cannot tell: near: " in capsys.readouterr().err


def test_the_page_shows_both_lists_of_every_query_and_who_gave_grades(coll: Path) -> None:
    page = decision_page(both(coll)).html()
    assert "Which: take new" in page
    assert page.count("<ol>") == 2 * len(QUERIES) + 2  # and two of the contents
    assert "The title of d0 d0 <small>grade 1 by human · " in page
    assert " in old</small>" in page
    assert " in new</small>" in page
    assert "only here" in page
    assert str(coll) not in page


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.sweep)])
def test_the_page_takes_less_than_five_kilobytes_a_query(count: int, tmp_path: Path) -> None:
    queries = [f"q{n}" for n in range(count)]
    (tmp_path / "qrels").mkdir()
    draw, docs = random.Random(2), [f"document-{n:06}" for n in range(4000)]
    rows = ({"_id": d, "title": f"{d} {'a long title ' * 9}", "text": ""} for d in docs)
    (tmp_path / "corpus.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    runs = {
        name: {q: {d: draw.random() for d in draw.sample(docs, 10)} for q in queries}
        for name in ("old", "new")
    }
    grades = {(q, d) for run in runs.values() for q, row in run.items() for d in row}
    lines = (f"{q} 0 {d} {draw.randrange(4)}\n" for q, d in sorted(grades))
    (tmp_path / "qrels/human.qrels").write_text("".join(lines))
    result = labeler.compare(tmp_path, runs)
    assert len(decision_page(result).html().encode()) < 5_000 * count


def test_a_reader_filters_queries_by_words_size_and_kind_and_opens_one(coll: Path) -> None:
    path = coll.parent / "page.html"
    Output(path).write(decision_page(both(coll)).html())
    with chromium() as browser:
        page = browser.new_page()
        page.goto(path.as_uri())
        shown = page.locator(".filtered > details:visible")
        assert shown.count() == len(QUERIES)
        page.fill("[name=words]", "what is q07")
        assert shown.count() == 1
        page.fill("[name=words]", "")
        page.get_by_label("kind").select_option("question")
        assert shown.count() == len(QUERIES) // 2
        page.get_by_label("top shelf").select_option("True")
        assert shown.count() == 1
        page.get_by_label("top shelf").select_option("")
        page.fill("[name=size]", "0.4")
        assert 0 < shown.count() < len(QUERIES) // 2
        shown.first.locator("summary").click()
        assert page.locator(".beside:visible ol").count() == 2
        named = {"a-system-with-the-long-name-of-its-model-and-commit": "old", "new": "new"}
        Output(coll.parent / "long.html").write(
            decision_page(labeler.compare(coll, named, MEASURE)).html()
        )
        narrow = browser.new_page(viewport={"width": 360, "height": 740})
        narrow.goto((coll.parent / "long.html").as_uri())
        assert narrow.evaluate("document.documentElement.scrollWidth") <= 360
        plain = browser.new_context(java_script_enabled=False).new_page()
        plain.goto(path.as_uri())
        assert not plain.locator("form.filters").is_visible()
        assert plain.locator(".filtered > details:visible").count() == len(QUERIES)


def test_the_page_is_printed_on_four_sheets_without_its_forms(coll: Path) -> None:
    path = coll.parent / "page.html"
    Output(path).write(decision_page(both(coll)).html())
    with chromium() as browser:
        page = browser.new_page()
        page.goto(path.as_uri())
        sheets = re.findall(rb"/Type */Page[^s]", page.pdf(format="A4"))
        page.emulate_media(media="print")
        assert not page.locator("form.filters").is_visible()
        printed = page.locator(".filtered > details:visible")
        assert 10 < printed.count() <= 30  # ten each of wins, losses and ties
    assert 1 < len(sheets) <= 4
