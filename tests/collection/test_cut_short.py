"""A command that was killed at any of its writes goes on when it is run again."""

import signal
from collections.abc import Sequence
from pathlib import Path

from forked import Forked
from running import environment, finish

from tests.catalog.test_fetch import write_mirror, write_recipe


def kills(
    words: Sequence[str],
    writes: Sequence[int],
    place: Path,
    before: Sequence[str] = (),
    **more: str,
) -> None:
    """Run a command, killed after so many of its writes, and then again; in a folder for each.

    It writes fewer times than the last of them says. `before` is a command that makes the folder.
    """

    def run(command: Sequence[str], renames: int | None = None) -> int:
        named = [folder if word == "OUT" else word for word in command]
        return finish(Forked(named, environment(**more), cwd=place, renames=renames))[0]

    killed = []
    for number in writes:
        folder = f"out{number}"
        assert not before or run(before) == 0
        code = run(words, number)
        assert code in {0, -signal.SIGKILL}
        killed.append(code < 0)
        assert run(words) == 0
    assert killed[0]
    assert not killed[-1], "more writes than were tried"


def test_a_fetch(tmp_path: Path) -> None:
    recipe, mirror = write_recipe(tmp_path), write_mirror(tmp_path)
    words = ["fetch", str(recipe), "-o", "OUT"]
    kills(words, range(9), tmp_path, LABELER_MIRROR=str(mirror))


def test_an_ingest(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nA text about cats.\n")
    (tmp_path / "q.txt").write_text("cats\n")
    kills(["corpus", "ingest", "a.md", "--queries-file", "q.txt", "-o", "OUT"], range(6), tmp_path)


def test_a_pool(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nA text about cats.\n")
    (tmp_path / "q.txt").write_text("cats\n")
    ingest = ["corpus", "ingest", "a.md", "--queries-file", "q.txt", "-o", "OUT"]
    kills(["pool", "OUT"], range(0, 9, 4), tmp_path, ingest)
