"""What a `.gitignore` names is left out as git leaves it out, and so is what patterns say."""

import shutil
import subprocess
from pathlib import Path

import pytest

from labeler.corpus.blocks import FileRules
from labeler.corpus.documents import Reading, read_documents
from labeler.corpus.find import find_files, rule_of
from labeler.errors import BadInput, Misuse

FILES = (
    *(
        "a.md",
        "b.txt",
        "build/x.md",
        "build/keep.md",
        "src/build/y.md",
        "src/a.md",
        "src/deep/a.md",
    ),
    *("src/deep/b.md", "docs/api/one.md", "docs/api/two/three.md", "docs/a.b.md", "log/1.md"),
    *("log/2.md", "x[1].md", "#hash.md", "!bang.md", "with space.md", "foo/bar/baz.md"),
    *("foo/baz.md", "q1.md", "q2.md", "Q3.md", "trailing.md", "b\\c.md"),
)
IGNORES = (
    "*.md\n!a.md", "build/", "/build", "build", "src/*.md", "src/**/a.md", "**/deep", "docs/**",
    "docs/**/three.md", "log/*\n!log/2.md", "log\n!log/2.md", r"\#hash.md", r"\!bang.md", "# x",
    "q[12].md", "q[!1].md", "[a-q]*.md", "?.md", "foo/*/baz.md", "foo/**/baz.md",
    "**/baz.md", "trailing.md   ", "/*\n!/docs", "a/../b", "x[1].md", r"x\[1\].md", "*", "**",
    "**/", "docs/api/", "/docs/api/one.md", "api/one.md", "/", "!", "\\", "[", "[]", "[]a].md",
    "[a-", "***/deep", "src/***/a.md", "**deep", "deep**", "a**", "s*c",
    "**/deep/b.md", "**/api/**/three.md", "**/a.md\n!src/**/a.md", r"q[\12].md", r"[\]q]1.md",
    "", "\n\n", "build/\r\n",
)  # fmt: skip


def files_below(folder: Path, **settings: bool) -> set[str]:
    selection = FileRules(**settings)
    return {
        path.relative_to(folder).as_posix()
        for path in find_files([str(folder)], (), selection).files
    }


def made(folder: Path) -> Path:
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("words")
    return folder


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_patterns_mean_what_git_says(tmp_path: Path) -> None:
    made(tmp_path)
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    for ignore in IGNORES:
        (tmp_path / ".gitignore").write_text(ignore)
        listed = [*git, "ls-files", "--others", "--exclude-standard", "-z"]
        shown = subprocess.run(listed, check=True, capture_output=True, text=True).stdout
        expected = {name for name in shown.split("\0") if name} - {".gitignore"}
        assert files_below(tmp_path) == expected, ignore


def test_the_nearest_gitignore_decides(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / ".gitignore").write_text("*.md")
    (tmp_path / "src" / ".gitignore").write_text("!a.md")
    assert files_below(tmp_path) == {"b.txt", "src/a.md", "src/deep/a.md"}
    assert files_below(tmp_path, gitignore=False) == set(FILES)


def test_a_folder_within_a_repository_has_the_rules_of_those_above_it(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("/src/deep\n")
    assert files_below(tmp_path / "src") == {"a.md", "build/y.md"}


def test_a_file_that_is_named_is_read_though_it_is_ignored(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / ".gitignore").write_text("*")
    assert find_files([str(tmp_path / "a.md")]).files == [tmp_path / "a.md"]


def test_patterns_choose_files_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".gitignore").write_text("log/")
    rules = FileRules(("src/", "docs/**/*.md", "b.txt"), ("deep/", "two"))
    result = find_files([str(tmp_path)], (), rules)
    names = {path.relative_to(tmp_path).as_posix() for path in result.files}
    assert names == {"b.txt", "src/a.md", "src/build/y.md", "docs/api/one.md", "docs/a.b.md"}
    assert {**result.left_out, "include": 0} == {
        "hidden": 2, "gitignore": 1, "exclude": 2, "include": 0,
    }  # fmt: skip
    assert result.left_out["include"] > 3


@pytest.mark.parametrize("pattern", ["", "#x", "!a.md", "[", "\\"])
def test_a_pattern_that_can_match_nothing_is_an_error(pattern: str) -> None:
    with pytest.raises(Misuse, match="no pattern of files"):
        find_files(["."], (), FileRules((pattern,)))


def test_a_folder_of_which_all_is_left_out_says_why(tmp_path: Path) -> None:
    made(tmp_path)
    with pytest.raises(BadInput, match="left out: "):
        read_documents([str(tmp_path)], how=Reading(files=FileRules(("*.rst",))))


def test_a_line_of_spaces_takes_no_longer_than_it_is() -> None:
    assert rule_of("a" + " " * 500_000 + "b") is None  # longer than any pattern


@pytest.mark.parametrize(
    "name",
    ["*" * 400 + "b", "**/" * 150 + "b", "*a" * 200 + "b", "*a" * 20 + "b", "**/a/" * 40 + "b"],
)
def test_no_pattern_takes_long(name: str) -> None:
    rule = rule_of(name)
    assert rule is not None
    assert not rule.applies("a/" * 60 + "a" * 60, is_folder=False)
