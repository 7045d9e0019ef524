"""Run a command on something tiny, and say in how many modules of the package a function ran.

python tests/walked.py evaluate|agree|judge [--names]

The command runs as `python -m labeler` does, from the first import on: what a module calls while it
is loaded counts, as lambdas and comprehensions do; bodies of modules and of classes do not.
"""

import runpy
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType

PACKAGE = Path(__file__).parent.parent / "labeler"
FILES = {
    "a.qrels": "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n",
    "b.qrels": "q1 0 d1 0\nq1 0 d2 0\nq2 0 d1 2\n",
    "a.trec": "q1 Q0 d1 1 2 a\nq2 Q0 d1 1 2 a\n",
    "b.trec": "q1 Q0 d2 1 2 b\nq2 Q0 d1 1 2 b\n",
}
MAKE = (
    "import shutil, sys; from labeler.testing import small_collection;"
    "shutil.copytree(small_collection().folder, sys.argv[1])"
)


def words_of(command: str, folder: Path) -> list[str]:
    """The words of a command on two tiny files, or on a collection of eight pairs."""
    if command == "judge":
        subprocess.run([sys.executable, "-c", MAKE, str(folder / "coll")], check=True)
        return ["judge", str(folder / "coll"), "--model", "similarity", "--as", "x"]
    kind = "qrels" if command == "agree" else "trec"
    qrels = [folder / "a.qrels"] if command == "evaluate" else []
    return [command, *map(str, [*qrels, folder / f"a.{kind}", folder / f"b.{kind}"])]


def walked(words: list[str]) -> set[Path]:
    """The modules in which a function is called; the bodies of classes and of modules are none."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _value: object) -> None:
        if event == "call" and frame.f_code.co_flags & CO_OPTIMIZED:
            seen.add(frame.f_code.co_filename)

    sys.argv = ["labeler", *words]
    threading.setprofile(note)
    sys.setprofile(note)
    with suppress(SystemExit):
        runpy.run_module("labeler", run_name="__main__")
    sys.setprofile(None)
    return {Path(file).relative_to(PACKAGE) for file in seen if file.startswith(f"{PACKAGE}/")}


if __name__ == "__main__":
    _, command, *more = sys.argv
    with tempfile.TemporaryDirectory() as made:
        for name, text in FILES.items():
            (Path(made) / name).write_text(text)
        modules = walked(words_of(command, Path(made)))
    names = sorted(map(str, modules)) if "--names" in more else []
    print(len(modules), *names, sep="\n", file=sys.__stderr__)
