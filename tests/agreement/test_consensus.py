"""A consensus is no colleague of those it was made from."""

from pathlib import Path

import numpy as np
import pytest

from labeler.agreement.agree import agree
from labeler.agreement.report import AssessorReport
from labeler.cli import execute
from labeler.data import Qrels

RNG = np.random.default_rng(5)
TRUTH = {
    f"q{q}": {f"d{d}": int(g) for d, g in enumerate(RNG.integers(0, 4, 40))} for q in range(25)
}


def rater(seed: int, right: float = 0.6) -> Qrels:
    """Grades that are the truth's so often, and otherwise anything."""
    rng = np.random.default_rng(seed)
    return {
        q: {d: g if rng.random() < right else int(rng.integers(0, 4)) for d, g in row.items()}
        for q, row in TRUTH.items()
    }


RATERS = [rater(seed) for seed in range(3)]
MORE = dict(zip(("anna", "ben", "carla"), RATERS, strict=True))


def report(human: Qrels, judge: Qrels, more: dict[str, Qrels]) -> AssessorReport:
    return agree(human, judge, more_humans=more).assessors[0]


@pytest.mark.sweep
@pytest.mark.parametrize("right", [0.4, 0.6, 0.7])
def test_one_more_person_is_no_consensus(right: float) -> None:
    found = report(rater(8, right), rater(7), MORE)
    assert [row.person for row in found.ceilings[0].people] == ["human", "anna", "ben", "carla"]
    assert not [one for one in found.findings if one.about == "human"]


def test_the_card_says_of_chorus_whose_grades_its_final_ones_were_made_from(
    tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABELER_MIRROR", str(shared / "mirror"))
    assert execute(["fetch", "chorus", "-o", str(tmp_path / "coll")]) == 0
    for name in ("rater1", "rater2"):
        (one,) = agree(tmp_path / "coll", "human", name, more_humans=["rater3"]).assessors
        assert one.ceilings == ()
        texts = [finding.text for finding in one.findings]
        assert any("human was made from the grades of rater1" in text for text in texts)
        assert any("the agreement of a part with the whole" in text for text in texts)


def test_json_holds_what_people_alone_have_among_themselves() -> None:
    row = agree(RATERS[0], rater(7), rater(6), more_humans={"ben": RATERS[1]}).as_json()[0]["joint"]
    assert row["raters"] == ["human", "ben"]
