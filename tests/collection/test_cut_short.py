"""A command that was killed at any of its writes goes on when it is run again."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.catalog.test_fetch import write_mirror, write_recipe

DRIVER = """
import json, os, sys
import safetensors, Stemmer, tokenizers
import labeler.catalog.fetch, labeler.corpus.ingest, labeler.pools.pool, pandas
from labeler.cli import execute, make_app

make_app(sys.argv[1].split('"')[1])  # what the parent has loaded, its children have
words, most = json.loads(sys.argv[1]), int(sys.argv[2])

def run(kill_at, folder):
    child = os.fork()
    if child == 0:
        renames = 0
        def count(event, _arguments):
            nonlocal renames
            if event == "os.rename":
                renames += 1
                if renames == kill_at:
                    os._exit(99)
        sys.addaudithook(count)
        os._exit(execute([folder if word == "OUT" else word for word in words]))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

codes = []
for number in range(1, most + 1, int(sys.argv[3])):
    folder = f"out{number}"
    for shape in os.environ.get("PREPARE", "").split():
        run_words, words = words, json.loads(shape.replace("|", " "))
        assert run(0, folder) == 0
        words = run_words
    codes.append((run(number, folder), run(0, folder)))
print(json.dumps(codes))
"""


def kills(
    words: list[str], most: int, place: Path, prepare: str = "", step: int = 1, **environment: str
) -> None:
    """Run a command, killed before its first write, its second and so on, and then again."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, json.dumps(words), str(most), str(step)],
        env={**os.environ, "PREPARE": prepare, **environment},
        cwd=place,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    codes = json.loads(done.stdout.splitlines()[-1])
    assert {code[1] for code in codes} == {0}, (codes, done.stderr)
    killed = [code[0] == 99 for code in codes]
    assert killed[0]
    assert not killed[-1], "more writes than were tried"


def test_a_fetch(tmp_path: Path) -> None:
    recipe, mirror = write_recipe(tmp_path), write_mirror(tmp_path)
    kills(["fetch", str(recipe), "-o", "OUT"], 9, tmp_path, LABELER_MIRROR=str(mirror))


def test_an_ingest(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nA text about cats.\n")
    (tmp_path / "q.txt").write_text("cats\n")
    kills(["ingest", "a.md", "--queries-file", "q.txt", "-o", "OUT"], 6, tmp_path)


def test_a_pool(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nA text about cats.\n")
    (tmp_path / "q.txt").write_text("cats\n")
    prepare = json.dumps(["ingest", "a.md", "--queries-file", "q.txt", "-o", "OUT"])
    kills(["pool", "OUT"], 9, tmp_path, prepare.replace(" ", ""), step=4)
