"""Agreement from counts by query: the same as from pairs, of files, of parts, and read back."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labeler.agreement.agree import AgreeOptions, agree
from labeler.agreement.align import Aligned, AssessorLabels, Rules, align_tally
from labeler.agreement.compare import StatisticOptions
from labeler.agreement.statistics.registry import query_tables
from labeler.agreement.tally import GradeTally, tally_of
from labeler.agreement.tally_files import tally_files, tell_what_is_held
from labeler.errors import BadInput
from labeler.exchange.qrels import read_qrels
from labeler.exchange.shapes import told_what_files_are
from labeler.trec.labels import read_labels

Row = tuple[str, str, str]
QUICK = AgreeOptions(statistics=StatisticOptions(("kappa", "bias"), draws=100))


def human_rows() -> list[Row]:
    rng = random.Random(1)
    return [
        (f"q{q}", f"a-longer-id-{d}", str(rng.choice([0, 0, 1, 2, 3, -1])))
        for q in range(12)
        for d in range(9)
    ]


def other_rows(labels: tuple[str, ...]) -> list[Row]:
    rng = random.Random(2)
    rows = [(q, d, rng.choice(labels)) for q, d, _ in human_rows() if rng.random() < 0.9]
    return [*rows, *((f"q{n % 15}", "another", rng.choice(labels)) for n in range(9, 15))]


def written(path: Path, rows: list[Row]) -> Path:
    path.write_text("".join(f"{q} 0 {d} {label}\n" for q, d, label in rows), encoding="utf-8")
    return path


def of_pairs(human: Path, other: Path) -> GradeTally:
    read = read_labels(other)
    return tally_of(read_qrels(human), AssessorLabels(read.labels, read.failures))


def same(first: Aligned, second: Aligned) -> None:
    assert first.pairs.queries == second.pairs.queries
    assert len(first.pairs) == len(second.pairs)
    assert np.array_equal(query_tables(first.pairs), query_tables(second.pairs))
    first_out, second_out = vars(first.left_out).copy(), vars(second.left_out).copy()
    assert first_out.pop("missing").tolist() == second_out.pop("missing").tolist()
    assert list(first_out["outside"]) == list(second_out["outside"])
    assert first_out == second_out


LABELS = {
    "grades": ("0", "1", "2", "3"),
    "words": ("0", "ERROR", "2.0", "+1", "7", "9", "1.5", "-3", "a-label-of-more-than-8-letters"),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("order", ["as people's", "another"])
@pytest.mark.parametrize("rules", [Rules(), Rules(clip=True, scale=(0, 1, 2)), Rules(cut=2)])
def test_files_counted_are_files_read(
    tmp_path: Path, labels: tuple[str, ...], order: str, rules: Rules
) -> None:
    rows = other_rows(labels)
    if order == "another":
        random.Random(3).shuffle(rows)
    if rules.scale:
        rules = Rules(clip=True, scale=(0, 1, 2), map_human={3: 2})
    human, other = written(tmp_path / "human", human_rows()), written(tmp_path / "other", rows)
    counted = tally_files(human, other)
    assert counted is not None
    assert counted.judged.tally is not None
    same(align_tally(counted.judged.tally, rules), align_tally(of_pairs(human, other), rules))


@pytest.mark.parametrize("line", ["q1 0 new ERROR: no answer", "q1 0 new", "q1"])
def test_what_only_a_whole_file_tells_is_left_to_its_reader(tmp_path: Path, line: str) -> None:
    human = written(tmp_path / "human", human_rows())
    other = written(tmp_path / "other", [(q, d, "1") for q, d, _ in human_rows()])
    other.write_text(other.read_text() + line + "\n", encoding="utf-8")
    assert tally_files(human, other) is None


@pytest.mark.parametrize("seed", range(6))
def test_pairs_that_stand_twice_are_counted_as_they_are_read(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    people, others = human_rows(), other_rows(("0", "1", "2", "2.0", "ERROR"))
    people += rng.sample(people, seed)
    again = [(q, d, rng.choice([label, "1", "2.0"])) for q, d, label in rng.sample(others, 9)]
    others += again + again[:3]
    for rows in (people, others) if seed % 2 else ():
        rng.shuffle(rows)
    human, other = written(tmp_path / "human", people), written(tmp_path / "other", others)
    told, read = list[str](), list[str]()
    counted = tally_files(human, other, warn=told.append)
    read_qrels(human, read.append)
    assert counted is not None
    assert counted.judged.tally is not None
    assert (told, counted.repeated) == (read, read_labels(other).repeated)
    same(align_tally(counted.judged.tally, Rules()), align_tally(of_pairs(human, other), Rules()))


def test_two_grades_of_people_are_the_error_of_their_reader(tmp_path: Path) -> None:
    rows = human_rows()
    more = [(q, d, str((int(grade) + 2) % 4)) for q, d, grade in rows[::20]]
    human = written(tmp_path / "human", rows + more)
    with pytest.raises(BadInput) as read:
        read_qrels(human)
    with pytest.raises(BadInput) as counted:
        tally_files(human, written(tmp_path / "other", other_rows(LABELS["grades"])))
    assert str(counted.value) == str(read.value)


def test_two_labels_of_every_common_pair_are_told_as_failures(tmp_path: Path) -> None:
    human = written(tmp_path / "human", [("q1", "a", "1"), ("q1", "b", "0")])
    other = written(tmp_path / "other", [("q1", "a", "1"), ("q1", "x", "1"), ("q1", "a", "0")])
    counted = tally_files(human, other)
    assert counted is not None
    assert counted.judged.tally is not None
    assert not counted.judged.tally.meets
    assert counted.judged.labels == {"q1": {"x": ""}}
    left_out = align_tally(counted.judged.tally, Rules()).left_out
    assert (left_out.failures, left_out.only_human) == ({"conflict": 1}, 1)


def test_agree_says_the_same_of_files_and_of_what_they_hold(tmp_path: Path) -> None:
    human = written(tmp_path / "human", human_rows())
    other = written(tmp_path / "other", other_rows(LABELS["words"]))
    of_files = agree(human, other, options=QUICK).as_json()
    of_dicts = agree(read_qrels(human), read_labels(other).labels, options=QUICK).as_json()
    assert of_files == of_dicts


def test_files_without_a_common_pair_are_told_with_their_ids(tmp_path: Path) -> None:
    human = written(tmp_path / "human", human_rows())
    other = written(tmp_path / "other", [(q, f"x{d}", "1") for q, d, _ in human_rows()])
    with pytest.raises(BadInput, match=r"share queries, but no pair: of query q0.*a-longer-id-0"):
        agree(human, other, options=QUICK)


Change = Callable[[dict[str, Any], dict[str, Any]], object]


def test_of_a_large_file_it_is_told_that_its_pairs_are_held(tmp_path: Path) -> None:
    path, lines = tmp_path / "large", list[str]()
    with path.open("wb") as out:
        out.truncate(1 << 28)  # sparse: it takes no room
    with told_what_files_are(lines.append):
        tell_what_is_held(path)
        tell_what_is_held(written(tmp_path / "small", human_rows()))
    assert [line.partition(": its pairs are all held")[0] for line in lines] == [str(path)]
