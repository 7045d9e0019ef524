"""A changed document, query, prompt, parameter or model never meets an old reply."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from made import grade_in, make_collection, pair_calls

from labeler.cli import execute
from labeler.collection.layout import Collection
from labeler.prompt import prompt_files
from labeler.testing import FakeServer


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


CHANGES: dict[str, Callable[[Collection, Path], None]] = {
    "documents": lambda c, _: edit(c.corpus, "about d", "all about d"),
    "titles": lambda c, _: edit(c.corpus, '"anchor"', '"Anchor"'),
    "queries": lambda c, _: edit(c.queries, "what q", "and what q"),
    "prompt": lambda _, p: edit(p, "hidden among other matter", "hidden among other things"),
    "parameters": lambda _, p: edit(p, "max_tokens = 64", "max_tokens = 64\ntemperature = 0.5"),
    "limit": lambda _, p: edit(p, "max_tokens = 64", "max_tokens = 65"),
}


@pytest.mark.parametrize("what", [*CHANGES, "model", "nothing"])
def test_what_changed_is_asked_anew(what: str, tmp_path: Path) -> None:
    collection, prompt = make_collection(tmp_path / "coll"), tmp_path / "mine.md"
    shutil.copy(prompt_files()["four-grades"], prompt)
    with FakeServer(grade_in) as server:

        def asked(model: str, name: str) -> int:
            before = len(pair_calls(server))
            where = ["--prompt", str(prompt), "--model", model, "--base-url", server.base_url]
            assert execute(["judge", str(collection.folder), *where, "--as", name]) == 0
            return len(pair_calls(server)) - before

        assert asked("fake", "first") == 10
        CHANGES.get(what, lambda *_: None)(collection, prompt)
        expected = {"nothing": 0, "limit": 0, "titles": 2}.get(what, 10)
        assert asked("other" if what == "model" else "fake", "second") == expected
