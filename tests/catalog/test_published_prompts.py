"""Prompts as their authors publish them run word for word, with a reader for what they ask for."""

from pathlib import Path

import pytest
import yaml

from labeler import judge
from labeler.catalog.fetch import fetch_prompts, prompt_recipes
from labeler.cli import execute
from labeler.errors import BadInput, FileProblem, Misuse
from labeler.prompt.check import check_prompt
from labeler.testing import fake_model, small_collection

NAMES = ("umbrela-original", "umbrela-fewshot-original")


@pytest.fixture
def mirror(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LABELER_MIRROR", str(shared / "mirror"))
    return shared / "mirror"


@pytest.mark.parametrize("name", NAMES)
def test_the_messages_are_the_published_text_with_query_and_passage_byte_for_byte(
    name: str, mirror: Path, tmp_path: Path
) -> None:
    fetch_prompts("umbrela", tmp_path)
    pinned = prompt_recipes()["umbrela"].prompts[name].file.pinned_path
    published = yaml.safe_load((mirror / pinned).read_text(encoding="utf-8"))
    asked = []
    model = fake_model(lambda request: asked.append(request) or "##final score: 2")  # type: ignore[func-returns-value]  # it is None
    collection = small_collection(tmp_path / "c")
    result = judge(collection, model=model, prompt=str(tmp_path / f"{name}.md"), name="x")
    assert (result.judged, result.failed) == (len(asked), 0)
    assert published["system_message"] == ""
    for request in asked:
        [turn] = request.messages
        texts = {key: request.inputs[key] for key in ("query", "passage")}
        expected = published["prefix_user"].format(**texts)
        assert (turn.role, turn.content.encode()) == ("user", expected.encode())
        assert dict(request.parameters) == {"temperature": 0.0, "max_tokens": 100}
        assert request.schema is None


def test_fetching_prompts_writes_them_into_the_folder_that_was_named(
    mirror: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["fetch", "prompt:umbrela", "-o", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [str(tmp_path / f"{name}.md") for name in NAMES]
    assert "Apache-2.0" in shown.err
    for name in NAMES:
        checked = check_prompt(tmp_path / f"{name}.md")
        assert (checked.errors, checked.schema) == (0, None)
        assert checked.prompt
        assert checked.prompt.front.fidelity == "verbatim"


def test_a_file_of_one_s_own_is_replaced_only_when_that_is_said(
    mirror: Path, tmp_path: Path
) -> None:
    first, _ = fetch_prompts("umbrela", tmp_path)
    text = first.read_bytes()
    assert fetch_prompts("umbrela", tmp_path)
    first.write_text("mine")
    with pytest.raises(Misuse, match=r"umbrela-original.md is another file"):
        fetch_prompts("umbrela", tmp_path)
    assert first.read_text() == "mine"
    fetch_prompts("umbrela", tmp_path, force=True)
    assert first.read_bytes() == text


def test_another_upstream_file_or_none_makes_no_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABELER_MIRROR", str(tmp_path / "mirror"))
    with pytest.raises(FileProblem, match="not in the mirror"):
        fetch_prompts("umbrela", tmp_path / "out")
    path = tmp_path / "mirror" / prompt_recipes()["umbrela"].prompts[NAMES[0]].file.pinned_path
    path.parent.mkdir(parents=True)
    path.write_text("prefix_user: |-\n  Reply with 3.\n")
    with pytest.raises(BadInput, match="SHA-256"):
        fetch_prompts("umbrela", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(Misuse, match=r"no recipe of prompts 'umbrella'; known: umbrela"):
        fetch_prompts("umbrella", tmp_path / "out")
