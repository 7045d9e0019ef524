"""What a path that a user named may hold, and what is replaced there."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from labeler.collection.layout import collection_files, is_own_file
from labeler.collection.user_files import Output
from labeler.errors import FileProblem, Misuse
from labeler.files.atomic import replacing

NAMES = (
    *("corpus.jsonl", "queries.jsonl", "rejected.jsonl", "pool.jsonl", "card.json", "README.md"),
    *("replies.db", "replies.db-wal", "replies.db-shm", ".lock"),
    *("judgements/a.jsonl", "people/b.jsonl", "samples/s1.jsonl"),
)
OTHERS = ("qrels/human.qrels", "runs/bm25.trec", "runs/mine.trec.gz")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with every file of a collection."""
    for name in (*NAMES, *OTHERS):
        path = tmp_path / "coll" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "coll"


LINKS: dict[str, Callable[[Path, Path], object]] = {
    "symbolic": lambda target, link: link.symlink_to(target),
    "relative": lambda target, link: link.symlink_to(os.path.relpath(target, link.parent)),
    "hard": os.link,
}


@pytest.mark.parametrize("name", [*NAMES, *OTHERS])
def test_no_file_of_a_collection_is_an_output(name: str, folder: Path, tmp_path: Path) -> None:
    target = folder / name
    with pytest.raises(Misuse, match=f"{target.name}"):
        Output(target).check()
    for kind, make in LINKS.items():
        link = tmp_path / kind
        make(target, link)
        with pytest.raises(Misuse):
            Output(link).check()
        with pytest.raises(Misuse):
            Output.of(link, [folder]).check()


@pytest.mark.parametrize("name", NAMES)
def test_what_only_a_collections_commands_write_is_no_output_even_by_force(
    name: str, folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(Misuse, match="a file of a collection's own"):
        Output(folder / name, force=True).check()
    (folder / name).unlink()
    with pytest.raises(Misuse, match="a file of a collection's own"):
        Output(folder / name, force=True).check()
    away = tmp_path / "away"
    away.write_text("")
    (folder / name).symlink_to(away)
    with pytest.raises(Misuse, match="a file of a collection's own"):
        Output(folder / name).check()


@pytest.mark.parametrize("name", OTHERS)
def test_runs_and_qrels_of_a_collection_are_replaced_by_force(name: str, folder: Path) -> None:
    Output(folder / name, force=True).check()
    (folder / name).unlink()
    Output(folder / name).check()


def test_every_file_of_a_collection_counts_as_an_input(folder: Path, tmp_path: Path) -> None:
    (folder / "sheet.csv").write_text("beside the others")
    inputs = {str(path.relative_to(folder)) for path in collection_files(folder)}
    assert inputs == {*NAMES, *OTHERS}


def test_names_of_a_collection_are_free_where_there_is_none(tmp_path: Path) -> None:
    assert not is_own_file(tmp_path / "pool.jsonl")
    assert not is_own_file(tmp_path / "judgements" / "a.jsonl")
    (tmp_path / "pool.jsonl").write_text("one's own")
    assert not is_own_file(tmp_path / "pool.jsonl")
    (tmp_path / "card.json").write_text("{}")
    assert is_own_file(tmp_path / "pool.jsonl")
    assert is_own_file(tmp_path / "POOL.JSONL")
    assert is_own_file(tmp_path / "judgements" / "a.jsonl")


def test_an_input_that_is_a_pipe_or_is_not_there_is_no_obstacle(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    Output.of(tmp_path / "pipe", [tmp_path / "pipe", tmp_path / "none", Path("-")]).check()


def test_a_file_by_force_is_written_and_is_then_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("somebody's")
    path.chmod(0o400)
    with Output(path, force=True).writing(), replacing(path) as out:
        out.write("ours")
    path.chmod(0o600)
    Output(path).check()
    path.write_text("ours, and a person's")
    with pytest.raises(Misuse, match="holds something else than what was written there before"):
        Output(path).check()


def test_a_file_of_the_same_content_elsewhere_is_somebody_elses(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    with Output(first).writing(), replacing(first) as out:
        out.write("ours")
    second.write_text("ours")
    with pytest.raises(Misuse):
        Output(second).check()


def test_what_is_written_by_force_to_one_file_forces_no_other(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("read-only")
    (tmp_path / "b").chmod(0o444)
    with (
        Output(tmp_path / "a", force=True).writing(),
        pytest.raises(FileProblem, match="read-only"),
        replacing(tmp_path / "b") as out,
    ):
        out.write("x")


WRITER = """
import sys
from pathlib import Path
from labeler.collection.user_files import Output
from labeler.files.atomic import replacing
path, number = Path(sys.argv[1]), 0
print("ready", flush=True)
while True:
    number += 1
    with Output(path).writing(), replacing(path) as out:
        out.write(f"{number}\\n" * 1000)
"""


def test_a_kill_at_any_moment_leaves_a_file_that_may_be_written_again(tmp_path: Path) -> None:
    path = tmp_path / "out"
    for delay in (0.0, 0.001, 0.003, 0.01, 0.02):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        time.sleep(delay)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        Output(path).check()
