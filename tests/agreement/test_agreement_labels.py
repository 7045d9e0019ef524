"""Labels as they come: what is no grade is left out, counted and never turned into one."""

import json
from pathlib import Path

import numpy as np
import pytest
from every_row import every_row

from labeler.agreement.align import AssessorLabels, Rules, align, scale_of
from labeler.agreement.compare import StatisticOptions, compare_labels
from labeler.agreement.statistics import STATISTICS
from labeler.cli import execute
from labeler.data import Pair
from labeler.errors import BadInput, Misuse
from labeler.report.finding import Finding
from labeler.report.table import number_text
from labeler.trec.labels import read_labels

HUMAN = {"q1": {"a": 0, "b": 1, "c": 2, "d": 3}, "q2": {"a": 3, "b": 0, "e": -1}}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_label_that_is_no_grade_is_kept_as_it_stands(tmp_path: Path) -> None:
    text = "# made by hand\r\nq1 0 a ERROR: timed out\n\nq1\tQ0\tb\t2.5\r\nq1 0 c\nq1 0 007 1\n"
    found = read_labels(write(tmp_path / "x", text))
    assert found.labels == {"q1": {"a": "ERROR: timed out", "b": "2.5", "007": "1"}}
    assert found.failures == {Pair("q1", "c"): "malformed"}


def test_beirs_tsv_is_read_as_well(tmp_path: Path) -> None:
    found = read_labels(write(tmp_path / "x", "query-id\tcorpus-id\tscore\nq\ta\t1\nq\tb\t2.5\n"))
    assert found.labels == {"q": {"a": "1", "b": "2.5"}}


def test_two_different_labels_of_a_pair_are_a_conflict_and_no_grade(tmp_path: Path) -> None:
    found = read_labels(write(tmp_path / "x", "q 0 a 1\nq 0 a 2\nq 0 b 1\nq 0 b 1\nq 0 a 1\n"))
    assert found.labels == {"q": {"b": "1"}}
    assert found.failures == {Pair("q", "a"): "conflict"}
    assert found.repeated == 2


def test_a_line_without_a_label_is_malformed_and_no_pair(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = write(tmp_path / "people.qrels", "q 0 a 1\nq 0 b 2\nr 0 a 1\n")
    other = write(tmp_path / "other.txt", "q 0 a\nq 0 b 2\nr 0 a 1\n")
    assert execute(["agree", str(people), str(other), "-s", "agreement", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pairs"] == 2
    assert found["left_out"]["failures"] == {"malformed": 1}


@pytest.mark.parametrize("text", ["", "\n# only a comment\n", "q1 a\n", "q1 a 1\nq1 b 0\n"])
def test_what_is_no_label_file_at_all_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInput, match="expected query iteration document grade"):
        read_labels(write(tmp_path / "x", text))


@every_row(
    ("label", "grade"),
    [
        ("2", 2),
        ("2.0", 2),
        ("+1", 1),
        (3, 3),
        ("ERROR", None),
        ("", None),
        ("nan", None),
        ("inf", None),
        ("1_0", None),
        ("²", None),
        ("2.5", None),
        ("10", None),
        ("-1", None),
    ],
)
def test_only_an_integer_of_the_scale_is_a_grade(label: str | int, grade: int | None) -> None:
    people = {"q": {"a": 0, "b": 3}}
    found = align(people, AssessorLabels({"q": {"a": label}}), Rules())
    assert [found.pairs.grades[g] for g in found.pairs.values[:, 1]] == (
        [] if grade is None else [grade]
    )
    assert found.left_out.outside_scale == ({} if grade is not None else {str(label): 1})


def test_every_pair_left_out_is_accounted_for() -> None:
    labels = {"q1": {"a": "0", "b": "ERROR", "c": "9", "x": "1"}, "q3": {"a": "1"}}
    failures = {Pair("q2", "a"): "refused"}
    found = align(HUMAN, AssessorLabels(labels, failures), Rules())
    out = found.left_out
    assert found.pairs.pairs.size == 1
    assert (out.only_people, out.only_other, out.unjudged_by_people) == (2, 2, 1)
    assert out.outside_scale == {"ERROR": 1, "9": 1}
    assert out.failures == {"refused": 1}
    assert out.missing.tolist() == [1, 1, 1, 2]
    assert found.pairs.pairs.size + out.missing.sum() + out.unjudged_by_people == 7


def test_scenarios_fill_in_the_missing_pairs_at_best_and_at_worst() -> None:
    labels = {"q1": {"a": 0, "b": 1, "c": 1}}
    found = compare_labels(
        HUMAN, AssessorLabels(labels), Rules(), StatisticOptions(("agreement", "mae"))
    )
    assert found.statistics["agreement"].value == pytest.approx(2 / 3)
    assert found.scenarios["agreement"].all_agree == pytest.approx(5 / 6)
    assert found.scenarios["agreement"].all_differ == pytest.approx(2 / 6)
    assert found.scenarios["mae"].all_differ == pytest.approx((1 + 3 * 3) / 6)


def test_a_cut_makes_both_sides_binary() -> None:
    other = {"q1": {"a": 1, "b": 2, "c": 2, "d": 0}}
    found = compare_labels(HUMAN, other, Rules(cut=2), StatisticOptions(("agreement",)))
    assert found.scale == (0, 1)
    assert found.confusion.tolist() == [[1, 1], [1, 1]]
    assert found.left_out.missing.tolist() == [1, 1]


def test_maps_rename_grades_before_anything_else() -> None:
    people = {"q": {"a": 1, "b": 4}}
    rules = Rules(map_human={1: 0, 4: 3}, map_assessor={5: 3})
    found = compare_labels(people, {"q": {"a": 0, "b": 5}}, rules)
    assert found.scale == (0, 1, 2, 3)
    assert found.statistics["agreement"].value == 1.0


@pytest.mark.parametrize(
    ("grades", "scale"),
    [
        ((0, 1, 2), (0, 1, 2, 3)),
        ((0, 1), (0, 1, 2, 3)),
        ((1, 3), (0, 1, 2, 3)),
        ((-1, 2), (0, 1, 2, 3)),
        ((1, 4), (1, 2, 3, 4)),
        ((0, 4), (0, 1, 2, 3, 4)),
    ],
)
def test_the_scale_is_0_to_3_unless_people_go_beyond_it(
    grades: tuple[int, ...], scale: tuple[int, ...]
) -> None:
    assert scale_of({"q": {str(g): g for g in grades}}, Rules()) == scale


def test_a_grade_that_people_happen_not_to_use_counts_and_is_not_left_out() -> None:
    people = {"q": {f"d{d}": d % 3 for d in range(12)}}
    other: dict[str, dict[str, int | str]] = {"q": dict(people["q"])}
    other["q"] |= {"d2": 3, "d5": 3, "d0": 5, "d1": 10, "d3": "ERROR"}
    found = compare_labels(people, other, None, StatisticOptions(("agreement", "kappa")))
    assert found.pairs == 9
    assert found.left_out.outside_scale == {"5": 1, "10": 1, "ERROR": 1}
    assert found.confusion.tolist() == [[2, 0, 0, 0], [0, 3, 0, 0], [0, 0, 2, 2], [0, 0, 0, 0]]
    assert found.statistics["agreement"].value == pytest.approx(7 / 9)
    assert found.statistics["kappa"].value == pytest.approx((63 - 21) / (81 - 21))


@pytest.mark.sweep
@pytest.mark.parametrize("top", [1, 2])
def test_no_statistic_changes_by_grades_of_the_scale_that_nobody_uses(top: int) -> None:
    rng = np.random.default_rng(7)
    people, other = (
        {f"q{q}": {str(d): int(rng.integers(0, top + 1)) for d in range(9)} for q in range(12)}
        for _ in range(2)
    )
    names = tuple(STATISTICS)
    short = compare_labels(
        people, other, Rules(scale=tuple(range(top + 1))), StatisticOptions(names)
    )
    usual = compare_labels(people, other, None, StatisticOptions(names))
    assert usual.scale == (0, 1, 2, 3)
    for name, expected in short.statistics.items():
        found = usual.statistics[name]
        assert (found.value, found.low, found.high) == pytest.approx(
            (expected.value, expected.low, expected.high)
        ), name
    assert usual.warnings == short.warnings


def test_binary_people_and_a_graded_other_agree_after_the_cut_that_is_named() -> None:
    people = {q: {d: min(g, 1) for d, g in row.items()} for q, row in many(0).items()}
    found = compare_labels(people, many(0), Rules(cut=1), StatisticOptions(("kappa",), draws=100))
    assert found.statistics["kappa"].value == 1.0
    assert all("held the truth" in warning for warning in found.warnings)


def test_a_grade_of_people_outside_a_named_scale_stops() -> None:
    with pytest.raises(BadInput, match="the grade 3, outside the scale 0:2"):
        compare_labels(HUMAN, HUMAN, Rules(scale=(0, 1, 2)))


def test_tables_by_query_add_up_with_the_weights_of_sampled_pairs() -> None:
    weights = {Pair("q1", "a"): 2.0, Pair("q2", "a"): 10.0}
    found = align(HUMAN, AssessorLabels(HUMAN), Rules(), weights)
    assert found.pairs.tables().sum(axis=(1, 2)).tolist() == [2.0, 10.0]


def many(shift: int, turn: bool = False) -> dict[str, dict[str, int]]:
    rng = np.random.default_rng(3)
    grades = {f"q{q}": {f"d{d}": int(rng.integers(0, 4)) for d in range(20)} for q in range(30)}
    return {
        q: {d: (3 - g if turn else g) + shift for d, g in row.items()} for q, row in grades.items()
    }


@pytest.mark.parametrize(
    ("people", "other", "sign", "remedy"),
    [
        (many(1), many(0), "moved by +1", "--map-assessor 0=1,1=2,2=3,3=4"),
        (many(0), many(1), "moved by -1", "--map-assessor 1=0,2=1,3=2,4=3"),
        (many(0), many(0, turn=True), "reversed", "--map-assessor 0=3,1=2,2=1,3=0"),
        (
            many(0),
            {q: {d: int(g > 1) for d, g in row.items()} for q, row in many(0).items()},
            "binary",
            "--cut 1 would make people's binary from 1 on, --map-human 0=0,1=0,2=1,3=1 from 2 on",
        ),
        (
            {q: {d: min(g, 1) for d, g in row.items()} for q, row in many(0).items()},
            many(0),
            "graded against binary",
            "--cut 1",
        ),
        (
            {q: {d: 1 + min(g, 2) for d, g in row.items()} for q, row in many(0).items()},
            {q: {d: min(g, 2) for d, g in row.items()} for q, row in many(0).items()},
            "moved by +1",
            "--map-assessor 0=1,1=2,2=3",
        ),
        (
            {q: {d: int(g > 1) for d, g in row.items()} for q, row in many(0).items()},
            {q: {d: int(g < 2) for d, g in row.items()} for q, row in many(0).items()},
            "reversed",
            "--map-assessor 0=1,1=0 ",
        ),
        (
            many(0),
            {q: {d: g * 3 for d, g in row.items()} for q, row in many(0).items()},
            "outside the scale",
            "--scale 0:9",
        ),
        (
            many(0),
            {f"{q}x": row for q, row in many(0).items()},
            "share no query",
            "a prefix or suffix",
        ),
        (
            many(0),
            {q: {f"{d}x": g for d, g in row.items()} for q, row in many(0).items()},
            "no pair: of query q0",
            "a prefix or suffix",
        ),
    ],
)
def test_a_suspicious_scale_is_named_with_what_would_mend_it(
    people: dict[str, dict[str, int]], other: dict[str, dict[str, int]], sign: str, remedy: str
) -> None:
    warnings = compare_labels(
        people, other, None, StatisticOptions(("agreement",), draws=100)
    ).warnings
    worded = [in_options(warning) for warning in warnings]
    assert any(sign in warning and remedy in warning for warning in worded), worded


def in_options(finding: Finding) -> str:
    """A finding as the command prints it."""
    return finding.worded(lambda s: s.as_option(f"--{s.parameter.replace('_', '-')}"))


def test_a_remedy_is_a_setting_of_the_library() -> None:
    moved = {q: {d: g + 1 for d, g in row.items()} for q, row in many(0).items()}
    found = compare_labels(many(0), moved, None, StatisticOptions(("agreement",), draws=100))
    (moving,) = (warning for warning in found.warnings if "moved by -1" in warning)
    assert "map_assessor={1: 0, 2: 1, 3: 2, 4: 3} would mend that" in moving
    rules = Rules(map_assessor=moving.settings[0].value)
    mended = compare_labels(many(0), moved, rules, StatisticOptions(("agreement",), draws=100))
    assert mended.statistics["agreement"].value == 1.0
    assert not [warning for warning in mended.warnings if "moved" in warning]


def test_a_scale_that_is_moved_and_reversed_is_mended_by_one_map() -> None:
    people, other = many(0), many(1, turn=True)
    found = compare_labels(people, other, None, StatisticOptions(("agreement",), draws=100))
    (turned,) = (one for one in found.warnings if "reversed" in one)
    assert "--map-assessor 1=3,2=2,3=1,4=0 " in in_options(turned)
    rules = Rules(map_assessor={1: 3, 2: 2, 3: 1, 4: 0})
    mended = compare_labels(people, other, rules, StatisticOptions(("agreement",), draws=100))
    assert mended.statistics["agreement"].value == 1.0


@pytest.mark.parametrize("queries", [2, 3, 30])
def test_a_reversed_scale_of_few_queries_is_named_too(queries: int) -> None:
    rng = np.random.default_rng(2)
    people = dict(list(many(0).items())[:queries])
    other = {
        q: {d: 3 - g if rng.random() < 0.7 else int(rng.integers(0, 4)) for d, g in row.items()}
        for q, row in people.items()
    }
    found = compare_labels(people, other, None, StatisticOptions(("spearman",), draws=100))
    assert found.statistics["spearman"].value == pytest.approx(-0.65, abs=0.2)
    assert any("is one scale reversed" in one for one in found.warnings)


def test_equal_scales_raise_no_suspicion() -> None:
    few, exact = compare_labels(many(0), many(0), None, StatisticOptions(draws=100)).warnings
    assert "held the truth" in few
    assert "bias: no width" in exact


def test_a_side_that_gives_one_grade_throughout_is_named() -> None:
    flat = {q: dict.fromkeys(row, 1) for q, row in many(0).items()}
    for people, other, said in ((many(0), flat, "the other gives"), (flat, many(0), "people give")):
        warnings = compare_labels(
            people, other, None, StatisticOptions(("kappa",), draws=100)
        ).warnings
        assert any(f"{said} the grade 1 to every pair" in warning for warning in warnings)


def test_cuts_that_nobody_uses_are_null_for_one_reason_and_not_in_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"q{d % 5} 0 d{d} {d % 2}\n" for d in range(40)]
    people = str(write(tmp_path / "p", "".join(rows)))
    other = str(write(tmp_path / "o", "".join(rows[:20] + [r[:-2] + "0\n" for r in rows[20:]])))
    assert execute(["agree", people, other, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["statistics"]["kappa>=3"]["value"] is None
    (reason,) = (warning for warning in found["warnings"] if "undefined" in warning)
    assert reason.endswith(
        "alpha>=2, alpha>=3 undefined: grades stand on one side of the cut alone"
    )
    assert execute(["agree", people, other]) == 0
    assert "kappa>=2" not in capsys.readouterr().out


def test_each_remedy_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def qrels(name: str, labels: dict[str, dict[str, int]]) -> str:
        lines = (f"{q} 0 {d} {g}\n" for q, row in labels.items() for d, g in row.items())
        return str(write(tmp_path / name, "".join(lines)))

    people, shifted, turned = qrels("p", many(1)), qrels("s", many(0)), qrels("t", many(1, True))
    for other, remedy in [
        (shifted, ["--map-assessor", "0=1,1=2,2=3,3=4"]),
        (shifted, ["--map-human", "1=0,2=1,3=2,4=3"]),
        (shifted, ["--map-human", "1=0,2=1", "--map-human", "3=2,4=3"]),
        (turned, ["--map-assessor", "1=4,2=3,3=2,4=1"]),
    ]:
        assert execute(["agree", people, other, *remedy, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["statistics"]["agreement"]["value"] == 1.0, remedy


@pytest.mark.parametrize(
    "option", [["--scale", "3"], ["--map-human", "1:2"], ["--map-assessor", "1=2,"]]
)
def test_an_option_that_cannot_be_meant_is_misuse(tmp_path: Path, option: list[str]) -> None:
    path = str(write(tmp_path / "x", "q 0 a 1\nq 0 b 0\n"))
    assert execute(["agree", path, path, *option]) == Misuse.exit_code


def test_people_are_read_strictly_and_others_leniently(tmp_path: Path) -> None:
    good = str(write(tmp_path / "good", "q 0 a 1\nq 0 b 0\n"))
    bad = str(write(tmp_path / "bad", "q 0 a ERROR\nq 0 b 0\n"))
    assert execute(["agree", bad, good]) == BadInput.exit_code
    assert execute(["agree", good, bad]) == 0


def test_failures_of_a_collection_are_counted_by_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("qrels", "judgements"):
        (tmp_path / folder).mkdir()
    write(tmp_path / "qrels/human.qrels", "q 0 a 1\nq 0 b 0\nr 0 a 1\nr 0 b 1\n")
    write(tmp_path / "qrels/llm.qrels", "q 0 a 1\nr 0 a 0\n")
    rows = [
        {"query_id": "q", "doc_id": "a", "grade": 1, "status": "judged"},
        {"query_id": "q", "doc_id": "b", "grade": None, "status": "refused"},
        {"query_id": "r", "doc_id": "a", "grade": 0, "status": "judged"},
        {"query_id": "r", "doc_id": "b", "grade": None, "status": "truncated"},
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    write(tmp_path / "judgements/llm.jsonl", lines)
    assert execute(["agree", str(tmp_path), "human", "llm", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pairs"] == 2
    assert found["left_out"]["failures"] == {"refused": 1, "truncated": 1}
    assert execute(["agree", str(tmp_path), "human", "nobody"]) == 2
    files = [str(tmp_path / name) for name in ("qrels/human.qrels", "judgements/llm.jsonl")]
    assert execute(["agree", *files, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["left_out"] == found["left_out"]


def test_a_diff_shows_grades_and_failures_and_the_farthest_moves_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "judgements").mkdir()
    before = {"a": (0, "judged"), "b": (3, "judged"), "c": (None, "refused"), "d": (1, "judged")}
    after = {"a": (1, "judged"), "b": (0, "judged"), "c": (2, "judged"), "d": (1, "judged")}
    for name, states in (("one", before), ("two", after)):
        rows = [
            {"query_id": "q", "doc_id": d, "grade": g, "status": s} for d, (g, s) in states.items()
        ]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        write(tmp_path / f"judgements/{name}.jsonl", lines)
    assert execute(["diff", str(tmp_path), "one", "two", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["states"] == ["0", "1", "2", "3", "refused"]
    assert [row["doc_id"] for row in found["moves"]] == ["c", "b", "a"]
    assert sum(map(sum, found["table"])) == 4
    assert execute(["diff", str(tmp_path), "one", "two", "--limit", "1"]) == 0
    text = capsys.readouterr().out
    assert "two gives another grade than one to 2 of the 3 pairs that both graded" in text
    assert "1 without a grade got one, 0 lost theirs." in text
    assert "… and 2 more" in text
    some = (tmp_path / "judgements/two.jsonl").read_text(encoding="utf-8").splitlines()[1:]
    write(tmp_path / "judgements/some.jsonl", "\n".join(some) + "\n")
    assert execute(["diff", str(tmp_path), "one", "some"]) == 0
    text = capsys.readouterr().out
    assert "some gives another grade than one to 1 of the 2 pairs that both graded" in text
    assert "1 pair stands on one side only" in text
    assert text.rstrip().endswith("absent")


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("1 0 a 1\n2 0 b 0\n", "has q1, q2; {} has 1, 2; they differ in a prefix"),
        ("Q1 0 a 1\nQ2 0 b 0\n", "they differ in upper and lower case"),
        ("x 0 a 1\ny 0 b 0\nz 0 b 0\nu 0 b 0\n", "has x, y, z, …"),
        ("q1 0 0a 1\nq1 0 0b 1\n", "share queries, but no pair: of query q1, {}"),
    ],
)
def test_no_pair_in_common_is_an_error_with_ids_of_both_sides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], other: str, said: str
) -> None:
    people = str(write(tmp_path / "p", "q1 0 a 1\nq1 0 b 0\nq2 0 a 2\n"))
    found = str(write(tmp_path / "o", other))
    name = people if "of query" in said else found
    for asked in ([people, found], [people, found, "--json"]):
        assert execute(["agree", *asked]) == BadInput.exit_code
        shown = capsys.readouterr()
        assert said.format(name) in shown.err
        assert not shown.out


def test_pairs_without_a_usable_label_are_said_and_are_no_crash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = str(write(tmp_path / "p", "q1 0 a 1\nq1 0 b 0\nq2 0 a 2\n"))
    other = str(write(tmp_path / "o", "q1 0 a ERROR\nq1 0 b ERROR\n"))
    third = str(write(tmp_path / "t", "q1 0 a 1\n"))
    assert execute(["agree", people, other, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pairs"] == found["queries"] == 0
    assert all(row["value"] is None for row in found["statistics"].values())
    more = str(write(tmp_path / "more", "q1 0 a 1\nq1 0 b 0\nq2 0 a 2\n"))
    assert execute(["agree", people, other, people]) == 2
    everything = ["--human", more, "--details", "--how-many", "0.1"]
    assert execute(["agree", people, other, third, *everything]) == 0
    assert "Nothing can be compared" in capsys.readouterr().out


def test_one_of_several_others_without_a_pair_in_common_does_not_stop_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = str(write(tmp_path / "p", "".join(f"q{d % 9} 0 d{d} {d % 3}\n" for d in range(90))))
    near = str(write(tmp_path / "n", "".join(f"q{d % 9} 0 d{d} {d % 2}\n" for d in range(90))))
    apart = str(write(tmp_path / "a", "q1 0 x1 2\nq2 0 x2 1\n"))
    given = ["-s", "kappa", "--json"]
    for order in ((near, apart), (apart, near)):
        assert execute(["agree", people, *order, *given]) == 0
        found = {row["other"]: row for row in json.loads(capsys.readouterr().out)}
        assert found[near]["statistics"]["kappa"]["value"] == pytest.approx(0.0, abs=0.2)
        assert found[near]["statistics"]["kappa"]["low"] is not None
        lost = found[apart]
        assert lost["pairs"] == 0
        assert lost["statistics"]["kappa"]["value"] is None
        assert any(f"{apart} share queries, but no pair" in one for one in lost["warnings"])
    assert execute(["agree", people, apart, *given]) == 65
    assert execute(["agree", people, near, apart, *given, "--require", "kappa:-1"]) == 5


def test_two_ways_to_write_a_grade_are_no_conflict(tmp_path: Path) -> None:
    found = read_labels(write(tmp_path / "x", "q 0 a 2\nq 0 a 2.0\nq 0 b 2\nq 0 b 2.5\n"))
    assert found.labels == {"q": {"a": "2"}}
    assert found.failures == {Pair("q", "b"): "conflict"}
    assert found.repeated == 1


def test_a_bias_that_rounds_to_nothing_has_no_sign() -> None:
    assert [number_text(x, "+.2f") for x in (-0.001, 0.001, -0.01, 0.01)] == [
        "0.00",
        "0.00",
        "-0.01",
        "+0.01",
    ]


def test_lines_that_stand_twice_are_among_the_warnings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = str(write(tmp_path / "p", "q1 0 a 1\nq1 0 b 0\nq1 0 b 0\n"))
    other = str(write(tmp_path / "o", "q1 0 a 1\nq1 0 a 1\nq1 0 b 0\nq1 0 b 0\n"))
    assert execute(["agree", people, other, "--json"]) == 0
    warnings = json.loads(capsys.readouterr().out)["warnings"]
    assert any("p: 1 repeated line, the same pair" in warning for warning in warnings)
    assert any("o: 2 lines say the same of a pair" in warning for warning in warnings)


def test_a_low_kappa_beside_high_agreement_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    lines: tuple[list[str], list[str]] = ([], [])
    for q in range(40):
        for d in range(50):
            for side in lines:
                side.append(f"q{q} 0 d{d} {int(rng.random() < 0.02)}\n")
    files = [str(write(tmp_path / str(i), "".join(side))) for i, side in enumerate(lines)]
    assert execute(["agree", *files, "-s", "kappa"]) == 0
    assert "Kappa is low beside so much agreement" in capsys.readouterr().out


def test_a_handful_of_pairs_shows_no_reversed_scale() -> None:
    people = {"q1": {"a": 0, "b": 1, "c": 2}, "q2": {"a": 1, "b": 2}}
    other = {"q1": {"a": 1, "b": 1, "c": 0}, "q2": {"a": 2, "b": 1}}
    found = compare_labels(people, other, None, StatisticOptions(("spearman",)))
    assert (found.statistics["spearman"].value or 0) < -0.3
    assert not [warning for warning in found.warnings if "reversed" in warning]


def test_chance_agreement_is_no_reversed_scale() -> None:
    rng = np.random.default_rng(1)
    people, other = (
        {f"q{q}": {str(d): int(rng.integers(0, 3)) for d in range(8)} for q in range(30)}
        for _ in range(2)
    )
    found = compare_labels(people, other, None, StatisticOptions(("spearman",)))
    assert found.statistics["spearman"].value is not None
    assert not [warning for warning in found.warnings if "reversed" in warning]


def test_a_thousand_different_labels_do_not_fill_the_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = str(write(tmp_path / "p", "".join(f"q{d % 9} 0 d{d} {d % 3}\n" for d in range(1000))))
    lines = (f"q{d % 9} 0 d{d} because of {d}\n" for d in range(990))
    kept = "".join(f"q{d % 9} 0 d{d} {d % 3}\n" for d in range(990, 1000))
    other = str(write(tmp_path / "o", "".join(lines) + kept))
    assert execute(["agree", people, other, "-s", "kappa"]) == 0
    said = capsys.readouterr().out
    assert said.count("left out") == 9
    assert "left out: 982 other labels" in said


def test_a_rater_who_is_named_is_never_called_people(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = {f"q{n}": {f"d{d}": (n + d) % 4 for d in range(9)} for n in range(6)}
    second = {q: {d: min(g, 1) for d, g in row.items() if d != "d8"} for q, row in first.items()}
    second["q9"] = {"d": 1}
    paths = []
    for name, qrels in (("gpt", first), ("llama", second)):
        lines = (f"{q} 0 {d} {g}\n" for q, row in qrels.items() for d, g in row.items())
        paths.append(str(write(tmp_path / f"{name}.qrels", "".join(lines))))
    assert execute(["agree", *paths, "-s", "kappa", "--details", "--how-many", "0.1"]) == 0
    said = capsys.readouterr()
    assert "left out: 6 pairs that only gpt graded" in said.out
    assert "left out: 1 pair that only llama graded" in said.out
    assert "gpt's grades are 0 to 3, the other's 0 to 1: binary against graded?" in said.err
    assert "people" not in said.out + said.err
    human = str(write(tmp_path / "human.qrels", Path(paths[0]).read_text()))
    assert execute(["agree", human, paths[1], "-s", "kappa"]) == 0
    assert "left out: 6 pairs that only people graded" in capsys.readouterr().out
