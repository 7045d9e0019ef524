"""Run what the pages show, and write the outputs that they show anew; `--check` only compares.

python scripts/pages.py [--check] [PAGE...]

A page's console blocks run in order, in one temporary folder. A line that begins with `$ ` is a
command whose output follows; in a block without any, every line is a command whose output is not
shown. In an output a line `…` stands for lines left out. A comment before a block changes this:

    <!-- file: NAME -->      the block is written to NAME in the folder
    <!-- not run: WHY -->    it is not run
    <!-- exit: N -->         its last command ends with N
    <!-- needs: FOLDER -->   it needs data that are not part of the project; without them, the page
                             is run up to here

The folder holds `docs/`, a copy of `datasets/example`. A key and an address in the environment lead
to a server on this machine that answers as a model would, so nothing is asked over the network.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from labeler.testing import FakeServer
from labeler.testing.fake_server import Call

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
SKIPPED_FOLDERS = ("site",)
WIDTH = "100"
LEFT_OUT = "…"

_BLOCK = re.compile(
    r"^(?:<!-- (?P<word>file|not run|exit|needs): (?P<value>.+?) -->\n)?"
    r"```(?P<language>\w*)\n(?P<body>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_STEPS = "files|runs|encoding|fusing|indexing|searching|judging|generating|reading|writing|labeler"
_PROGRESS = re.compile(rf"^({_STEPS})[^:\n]*: .*\d+/[\d,]+.*\n", re.M)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, where that stands, and the comment before it."""

    language: str
    body: str
    start: int
    word: str = ""
    value: str = ""

    @property
    def shows_output(self) -> bool:
        return self.body.startswith("$ ")


@dataclass(frozen=True)
class Shown:
    """A command of a console block and the output that follows it."""

    command: str
    output: str


def pages() -> list[Path]:
    return [p for p in PAGES if not set(SKIPPED_FOLDERS) & set(p.relative_to(ROOT).parts)]


def blocks(text: str) -> list[Block]:
    return [
        Block(m["language"], m["body"], m.start("body"), m["word"] or "", m["value"] or "")
        for m in _BLOCK.finditer(text)
    ]


def shown_in(body: str) -> Iterator[Shown]:
    """The commands of a block; lines that end with a backslash go on."""
    if not body.startswith("$ "):
        for command in body.replace("\\\n", " ").splitlines():
            if command.strip() and not command.startswith("#"):
                yield Shown(command, "")
        return
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, output = re.split(r"(?<!\\)\n", part, maxsplit=1)
        yield Shown(command, output)


def answer(call: Call) -> str:
    """A grade where one is asked for, drawn from the request; else a query from the passage."""
    messages = call.body["messages"]
    text = str(messages[-1]["content"])
    if "JSON object" in text:
        return json.dumps({"grade": sum(map(ord, text)) % 3, "reason": "It fits."})
    words = re.findall(r"[a-z]{5,}", text.rpartition("Passage:")[2].casefold())
    return "how do I " + " ".join(dict.fromkeys(words[::7][:4]))


@dataclass
class Reader:
    """Somebody who follows a page in an empty folder."""

    folder: Path
    server: FakeServer
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        shutil.copytree(ROOT / "datasets" / "example", self.folder / "docs")
        programs = self.folder.parent / "bin"
        programs.mkdir(exist_ok=True)
        for name, words in (("labeler", "-m labeler"), ("python", "")):
            program = programs / name
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
            program.chmod(0o755)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "LABELER_"))}
        self.environment = clean | {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            "OPENAI_API_KEY": "sk-nothing",
            "OPENAI_BASE_URL": self.server.base_url,
            "XDG_STATE_HOME": str(self.folder.parent / "state"),
            "COLUMNS": WIDTH,
            "NO_COLOR": "1",
        }
        if (DATA / "mirror").is_dir():
            self.environment["LABELER_MIRROR"] = str(DATA / "mirror")

    def has(self, data: str) -> bool:
        """Whether data that are not part of the project are here; then they are in the folder."""
        link = self.folder / data
        if (DATA / data).is_dir() and data != "mirror" and not link.exists():
            link.symlink_to(DATA / data)
        return (DATA / data).is_dir()

    def run(self, command: list[str], expected: int = 0) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        if done.returncode != expected:
            sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}")
        return _PROGRESS.sub("", done.stdout).rstrip("\n")

    def follow(self, block: Block) -> str:
        """The block's text after it has run: that of a console with the outputs as they are now."""
        if block.word == "file":
            path = self.folder / block.value
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.body, encoding="utf-8")
        elif block.language == "console":
            return self._console(block)
        elif block.language == "python" and not block.body.startswith(">>>"):
            self.run([sys.executable, "-W", "error", "-c", block.body])
        return block.body

    def _console(self, block: Block) -> str:
        commands = list(shown_in(block.body))
        exits = [0] * len(commands)
        if block.word == "exit":
            exits[-1] = int(block.value)
        written = []
        for shown, expected in zip(commands, exits, strict=True):
            output = self.run(["bash", "-c", shown.command], expected)
            lines = shown.output.rstrip("\n").split("\n")
            written.append(f"$ {shown.command}\n{shortened(output, lines)}")
        return "".join(written) if block.shows_output else block.body


def shortened(output: str, before: list[str]) -> str:
    """`output` with as many lines at its head and end as were shown of it before."""
    lines = output.split("\n") if output else []
    if LEFT_OUT in before:
        head, tail = before.index(LEFT_OUT), len(before) - before.index(LEFT_OUT) - 1
        if head + tail < len(lines):
            lines = [*lines[:head], LEFT_OUT, *lines[len(lines) - tail :]]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def check_text(block: Block) -> None:
    """Files that are shown and not run are at least such files."""
    if block.language == "toml":
        tomllib.loads(block.body)
    elif block.language == "json":
        json.loads(block.body)


def fresh(text: str, reader: Reader) -> str:
    """A page with the outputs that its commands give now."""
    parts, done = [], 0
    for block in blocks(text):
        check_text(block)
        if block.word == "needs" and not reader.has(block.value):
            break
        body = block.body if block.word == "not run" else reader.follow(block)
        parts += [text[done : block.start], body]
        done = block.start + len(block.body)
    return "".join([*parts, text[done:]])


def main() -> None:
    named = [Path(word).resolve() for word in sys.argv[1:] if not word.startswith("-")]
    stale = []
    for page in named or pages():
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as place, FakeServer(answer) as server:
            now = fresh(text, Reader(Path(place) / "here", server))
        if now == text:
            continue
        stale.append(str(page.relative_to(ROOT)))
        if "--check" in sys.argv:
            sys.stderr.writelines(difflib.unified_diff(text.splitlines(True), now.splitlines(True)))
        else:
            page.write_text(now, encoding="utf-8")
    if stale and "--check" in sys.argv:
        sys.exit(f"stale: {', '.join(stale)}; run python scripts/pages.py")


if __name__ == "__main__":
    main()
