"""Judging with a panel: each member is a set of its own, and nothing is asked twice."""

import json
from pathlib import Path

import pytest

import labeler
from labeler.cli import execute
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection
from labeler.errors import BudgetReached, Misuse
from labeler.judging.judge import JudgeOptions
from labeler.lab.members import PanelOptions
from labeler.lab.panel import members_named
from labeler.model import Model
from labeler.models.session import Control
from labeler.models.settings import Limits
from labeler.testing import fake_model, small_collection


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return small_collection(tmp_path / "coll")


class Counted:
    """A model that gives one grade, or no grade, and counts how often it is asked."""

    def __init__(self, name: str, grade: int | None) -> None:
        self.calls = 0

        def reply(_request: object) -> str:
            self.calls += 1
            return "no grade here" if grade is None else json.dumps({"grade": grade})

        self.model: Model = fake_model(reply, name)


def options(counted: Counted, name: str, **more: object) -> JudgeOptions:
    return JudgeOptions(model=counted.model, name=name, **more)  # type: ignore[arg-type]  # limits


def test_members_are_sets_and_the_panel_is_one_more(collection: Collection) -> None:
    models = [Counted(name, grade) for name, grade in (("lax", 3), ("fair", 2), ("strict", 0))]
    members = [options(m, n) for m, n in zip(models, ("lax", "fair", "strict"), strict=True)]
    judged = labeler.judge_panel(collection, members, name="all")
    assert list(judged.as_json()["members"]) == ["lax", "fair", "strict"]
    assert sorted(collection.judgement_names()) == ["all", "fair", "lax", "strict"]
    rows = list(read_judgements(collection.judgements("all")))
    assert {row.judged.outcome.grade for row in rows} == {2}
    assert rows[0].members == {"lax": 3, "fair": 2, "strict": 0}
    assert judged.frame()["pairs"].tolist() == [4, 4, 4, 4]
    # again, with another rule and without one member: nothing is asked anew
    assert [m.calls for m in models] == [4, 4, 4]
    labeler.judge_panel(collection, members, name="all")
    labeler.judge_panel(collection, members[:2], name="two", options=PanelOptions("mean"))
    assert [m.calls for m in models] == [4, 4, 4]


def test_a_member_that_fails_is_left_out_and_two_that_fail_leave_no_grade(
    collection: Collection,
) -> None:
    models = {"good": Counted("good", 2), "fair": Counted("fair", 2), "mute": Counted("mute", None)}
    members = [options(counted, name) for name, counted in models.items()]
    judged = labeler.judge_panel(collection, members, name="all")
    assert (judged.panel.judged, judged.panel.failed) == (4, 0)
    mute = [members[0], members[2], options(Counted("mum", None), "mum")]
    failed = labeler.judge_panel(collection, mute, name="mute-panel")
    assert (failed.panel.judged, failed.panel.failed) == (0, 4)
    assert collection.qrels("mute-panel").read_text() == ""


def test_a_budget_holds_for_all_members_together_and_leaves_no_part_of_a_panel(
    collection: Collection,
) -> None:
    first, second = Counted("a", 1), Counted("b", 2)
    limits = Limits(max_calls=6)
    members = [options(first, "a", limits=limits), options(second, "b", limits=limits)]
    with pytest.raises(BudgetReached):
        labeler.judge_panel(collection, members, name="all", control=Control())
    assert first.calls + second.calls == 6
    assert "all" not in collection.judgement_names()
    # the same again goes on where it stopped
    labeler.judge_panel(collection, members, name="all", control=Control())
    assert first.calls + second.calls == 8


def test_members_are_named_by_prompt_and_model() -> None:
    common = JudgeOptions("four-grades", "gpt-4.1", name="panel")
    members = members_named("basic, four-grades:gpt-4o,:qwen3:8b", common)
    assert [(m.prompt, m.model, m.name) for m in members] == [
        ("basic", "gpt-4.1", None),
        ("four-grades", "gpt-4o", None),
        ("four-grades", "qwen3:8b", None),
    ]
    with pytest.raises(Misuse, match="expected PROMPT, PROMPT:MODEL or :MODEL"):
        members_named("basic,,four-grades", common)
    with pytest.raises(Misuse, match="no prompt 'gpt-4o'") as refused:
        members_named("basic,gpt-4o", common)
    assert refused.value.parameter == "members"


def test_what_cannot_be_is_refused_before_anything_is_asked(collection: Collection) -> None:
    counted = Counted("a", 1)
    one, other = options(counted, "a"), options(Counted("b", 1), "b")
    with pytest.raises(Misuse, match="two members or more"):
        labeler.judge_panel(collection, [one])
    with pytest.raises(Misuse, match="named twice"):
        labeler.judge_panel(collection, [one, one])
    labeler.judge(collection, model=Counted("c", 1).model, name="taken")
    with pytest.raises(Misuse, match="made by no panel"):
        labeler.judge_panel(collection, [one, other], name="taken")
    assert counted.calls == 0


def test_the_command_judges_with_prompts_and_models(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("wordllama")
    folder = str(collection.folder)
    asked = ["lab", "panel", folder, "--model", "similarity", "--quiet", "--members"]
    command = [*asked, "four-grades,basic"]
    assert execute([*command, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["calls"] == 8
    assert execute([*command, "--as", "both", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["judged"], figures["rule"]) == (4, "median")
    assert list(figures["members"]) == ["four-grades-similarity", "basic-similarity"]
    assert execute(command) == 0
    assert f"kept as panel-median: labeler agree {folder}" in capsys.readouterr().err
    assert execute([*command, "--rule", "mean", "--fewest", "2", "--as", "mean"]) == 0
    said = f"kept as mean: labeler agree {folder} human mean"
    assert said in capsys.readouterr().err
    assert "mean" in collection.qrels_names()
    assert execute([*asked, "four-grades"]) == 2
    assert "two members or more" in capsys.readouterr().err
    assert execute([*command, "--people", "mean"]) == 2
    assert "stand beside its own human qrels" in capsys.readouterr().err
