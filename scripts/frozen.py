"""What every command says and writes, kept as values, to show that a refactoring changed none.

    python scripts/frozen.py record before/ --checkout ../other     another checkout's commands
    python scripts/frozen.py record after/                          this one's
    python scripts/frozen.py record after/ --only 'agree*'          of one room, in seconds
    python scripts/frozen.py compare before/ after/                 exit 1 where a value differs

A case (frozen_cases.py) is commands in a folder of its own, one after another, beside a server
that answers by the text it is asked about. Each command that offers JSON is asked for it. Of each
the exit code, its output and the files that it wrote are kept in `NAME.json`: JSON and tables as
values under keys, qrels and runs line by line. Two recordings are equal where the same values stand
under the same keys, floats to the last digit; the order of keys is free. Sentences, pages and
pictures are compared apart (`--words` shows them) and may change.

What was renamed on purpose stands in the tables below, so that one case runs on the old commands
and on the new ones. A row is used where the checkout does not have the old name.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import gzip
import hashlib
import io
import json
import os
import queue
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from frozen_cases import CASES, ROOT, SHARED, Step, inputs, steps_of, write_inputs

if TYPE_CHECKING:
    from frozen_cases import Case

    from labeler.testing import FakeServer


class Renamed(NamedTuple):
    """`old` is a command, or a command and an option, or an option of any command.

    Where a checkout lacks it, `pattern` in a case's line becomes `new`.
    """

    old: str
    pattern: str
    new: str


def moved(old: str, new: str) -> Renamed:
    """A command that has another name now."""
    return Renamed(old, rf"^{old}\b", new)


SETTINGS = {
    "model": ("rpm", "tpm", "timeout", "patience", "tries"),
    "budget": ("max-tokens", "deadline", "max-failed"),
    "passages": ("min-words", "code-share", "list-share", "duplicate-share"),
}
RENAMED = (
    # corpus
    *(moved(name, f"corpus {name}") for name in ("ingest", "update", "rechunk", "chunk")),
    # runs
    *(moved(name, f"runs {name}") for name in ("rerank", "fuse")),
    moved("run", "runs"),
    # people
    moved("sample", "people sample"),
    moved("import-labels", "people import"),
    Renamed("annotate --status", r"^annotate (.*) --status\b", r"people status \1"),
    # qrels
    moved("import-qrels", "import"),
    # lab
    *(moved(name, f"lab {name}") for name in ("tune", "panel", "probe", "calibrate")),
    *(moved(name, f"lab {name}") for name in ("route", "cascade", "leaderboard")),
    Renamed("judge --control", r"^judge (.*?)--control (\S+)", r"lab control \1--pairs \2"),
    Renamed("judge --repeat", r"^judge (.*?)--repeat (\S+)", r"lab repeat \1--times \2"),
    # evaluation: what is left of a line is compared
    Renamed("evaluate --movers", r" --movers \S+", ""),
    Renamed("evaluate --jobs", r" --jobs \S+", ""),
    Renamed("evaluate --thin", r" --thin \S+", ""),
    # batch, parts
    Renamed(
        "judge --batch", r"^judge (.*?)--batch (\S+)(?: --batch-file (\S+))?", r"batch \2 \1\3"
    ),
    moved("collect", "parts collect"),
    # any command
    Renamed("--prices", r"--prices \S+", "--set model.tokens_in=1 --set model.tokens_out=2"),
    *(
        Renamed(f"--{name}", rf"--{name} (\S+)", rf"--set {table}.{name.replace('-', '_')}=\1")
        for table, names in SETTINGS.items()
        for name in names
    ),
    Renamed("--redact", r"--redact\b", "--set store.redact=true"),
    Renamed("--tag", "--tag ", "--as "),
    *(
        Renamed(f"agree --map-{side}", f"--map-{side} ", f"--map {side}:")
        for side in ("human", "assessor")
    ),
    Renamed("prompts", r"^prompts(?! (show|new|check|diff))", "prompts show"),
)
GONE = {
    "index": "writing vectors into a database is left to its own tools",
    "qrels binarise": "`qrels map`",
    "qrels clip": "`qrels map`",
    "queries realism": "a section of `generate --like`",
    "corpus chunk": "collections that are cut in two ways say it of real queries",
    "prompts diff": "`diff`, and `judge --dry-run`, which says how much is asked anew",
    "judge --panel": "`judge` with each member, then `lab panel`",
    "shift": "`diff COLL/history/N COLL`",
    "missed": "a few hundred draws say too little of it",
    "reuse": "`evaluate COLL --reuse`",
    "judge --expand": "`pool --expand NAME --model MODEL` judges what each round adds",
    "queries from-log --click-run": "clicks are read by `monitor`",
    "queries from-log --attention": "clicks are read by `monitor`",
    "qrels subset --sample": "a list of drawn queries goes with --queries",
    "correct --require": "gates on scores are of `evaluate`",
    "correct --missing": "queries that a run lacks count as 0",
    "correct --no-worse-than": "gates on scores are of `evaluate`",
    "evaluate --interval": "the paired t test is left to statistics packages",
    "evaluate --no-worse-than": "`compare --no-worse-than`",
    "evaluate --margin": "`compare --margin`",
    "evaluate --compare-by": "the first measure compares; JSON has all",
    "leaderboard --table": "JSON has all tables",
    "power --table": "JSON has all tables",
    "runs mmr": "re-ranking for diversity is a system's work",
    "correct --per-query": "`evaluate --per-query` has the scores of either side",
    "agree --plot": "its tables say what the picture did",
    "diff --plot": "its tables say what the picture did",
    "lab leaderboard --plot": "its tables say what the picture did",
    "agree --method": "every interval over queries is made in one way",
    "agree --show-naive": "pairs of one query are not independent",
    "agree --margin": "a colleague is as good within 0.05 of kappa",
    "agree --with-baseline": "name the grades of `similarity` beside the others",
    "probe --attacks": "the shipped attacks are tried",
    "evaluate --ties": "documents of one score stand in trec_eval's order",
    "evaluate --lgtm": "people grade pairs; a page of results is not graded",
}
"""Commands and options that went, and what stands in their place."""

GROUPS = {"prompts", "qrels", "run", "store", "queries"}
GROUPS |= {"corpus", "runs", "people", "lab", "batch", "parts"}


class Key(NamedTuple):
    """Paths of values, as `stdout/rows/0/mean`, of the commands whose line matches."""

    command: str
    path: str
    new: str
    """What the path is now, as in `re.sub`; of a value that came or went, the reason."""


KEYS: tuple[Key, ...] = (Key(".*", "significance/alone/", "significance/"),)
"""Keys that have another name now."""
KEYS_GONE: tuple[Key, ...] = (
    Key(".*", "cached_tokens$", "the cost counts them at their price"),
    Key("evaluate", "^stdout/movers", "`evaluate --by` and the report name queries"),
    Key(".*(pool|build|retrieve) ", "recall$", "no index is searched that could miss vectors"),
    Key("prompts$", "^stdout/pairwise@", "nothing compares two documents"),
    Key(".*", "ingest/settings/code$", "source code is not read by symbol any more"),
    Key(".*", "(settings/max_file_size|too_large)$", "no option says how large a file may be"),
    Key(".*", "(lower_bounds|unchecked)$", "rare cases are not counted"),
    Key("monitor", "watches/density", "`queries` and `log` are watches of their own"),
    Key("monitor", "weekly", "weeks are not joined over runs"),
    Key(".*panel", "disagreement$", "a row has the grade of each member"),
    Key(".*panel", "^stdout/people/", "`agree` says it as of any set"),
    Key("(diff|relabel)", "cost/difference", "both costs say it"),
    Key(".*--(panel|members) ", "^stdout/(members|stopped)", "the result is that of `lab panel`"),
    Key("(lab )?tune", "/efficient", "agreement and cost of each stand there"),
    Key("power", "/assurance$", "a plan takes the deviation as it was measured"),
    Key(".*", "difference_bounds", "no verdict goes by what unjudged documents leave open of two"),
    Key(".*", "/p_max_t$", "no verdict goes by it"),
    Key(
        "(evaluate|report|correct)",
        "/(p_(holm|hsd|least|corrected|attainable)|correction)$",
        "`p` is of the family, by which the verdict goes",
    ),
    Key("power", "/largest$|widest.pair|/(needed|detectable)/[0-9.]+/[01]$", "one deviation"),
    Key("(agree|report)", "/method$", "every interval over queries is made in one way"),
    Key(
        "(agree|report)",
        "(statistics|scenarios)/(ac2|fleiss|tau-ap|bias-index|kappa-max|prevalence|icc)",
        "statistics that nobody cites, or that another one says",
    ),
    Key(".*", "statistics/(rbo|max_drop)/", "tau-b, tau-ap and the swaps say it"),
    Key("evaluate", "/residual$", "`high` less `low`"),
    Key("agree", "baseline/|bias_by_grade|joint/pairwise|how_many/[0-9]/(floor|pairs)$", "gone"),
    Key("agree", "calibration/.*/said$", "`probability`"),
    Key("agree", "details/classes/", "the table of both sides' grades holds it"),
    Key("(lab )?tune.*--dry-run", "assessors/.*/(first|at_most)/", "one plan, of all pairs"),
    Key("(agree|report)", "leaderboard/", "as `lab leaderboard` has it"),
    Key("(diff|relabel)", "/by_chance$|queries/[0-9]+/p$|uneven_p$", "moves are not tested so"),
    Key(".*", "significance/hsd/", "what allows for all pairs is what sentences say"),
    Key("agree", "alternative/.*(_pairs)$", "pairs of one query are not independent"),
    Key("correct", "/turns_at$|/human_pairs$", "what other queries could do turns no verdict"),
    Key(
        "(evaluate|report)",
        "groups/.*/(worst|differences|interactions|to_answer)",
        "no gate goes by it",
    ),
)
KEYS_NEW: tuple[Key, ...] = (
    Key(".*panel", "^stdout/people$", "the human qrels alone"),
    Key("(lab )?cascade", "/members/", "as the card of a panel has them"),
    Key(".*--(panel|members) ", "^stdout/", "the result is that of `lab panel`"),
    Key("(agree|report)", "leaderboard/", "as `lab leaderboard` has it"),
    Key("agree", "joint/(people|others)$", "null where there are fewer than two"),
    Key("agree", "calibration/.*/probability$", "was `said`"),
    Key("lab leaderboard", "runs/[0-9]+/(difference|low|high)$", "each run's bias"),
    Key("power", "/(needed|detectable)/[0-9.]+$", "by the pooled deviation alone"),
    Key("(evaluate|report|correct)", "/family$", "in place of `correction`"),
)
"""Values that only one of the two has, each with the reason."""

LONGEST_SECONDS = 300.0
LONGEST_TEXT = 200_000
"""Characters of an output that are kept as they are; of longer ones the SHA-256."""
VARYING = {"at", "checksum", "wire_checksum", "key", "custom_id"}
VARYING |= {"per_second", "seconds", "seconds_left", "call_seconds"}
"""Keys whose values differ between two runs of the same code."""
TIMED = ("pilot/hours", "store/bytes")
"""Parts of paths of values that a clock gave, or the order in which replies came."""
CHANGING = (
    (r"\b20\d{6}T\d{6}Z", "MOMENT"),
    (r"passage [0-9a-f]{12}\b", "passage MARK"),  # drawn of the request, which names the port
    (r"\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00)?)", "MOMENT"),
    (r"\b[\d,]+\.\d/s", "RATE/s"),
    (r"works \(\d+\.\d s\)", "works (SECONDS)"),
    (r"this took \d+ s", "this took SECONDS"),
    (r"(?m)[\d,]+\.\d MB( \(|$| before| after)", r"SIZE\1"),
)
"""Patterns of what differs between two runs of the same code, and what is kept instead."""
PICTURES = (".png", ".svg", ".pdf")
PAGES = (".md", ".html", ".tex", *PICTURES)
SENTENCE = 3
"""A text of more blanks, printed beside values, is a sentence, and none of them."""
TOLD = ("detail",)
"""Keys of sentences in rows of data, whose texts are otherwise values."""
LOADED = ("aiohttp", "numpy", "openai", "pandas", "pydantic", "rich", "typer", "mdit_py_plugins")


# Running commands.


class Forker:
    """A process that has loaded what most commands load, and forks one for each command."""

    def __init__(self, checkout: Path) -> None:
        self.checkout = checkout
        self.pid = 0
        self._helps: dict[tuple[str, ...], str] = {}
        self._process = subprocess.Popen(
            [sys.executable, __file__, "fork"],
            env=environment(Path("/nonexistent"), checkout),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, order: Mapping[str, object]) -> int:
        """The exit code of a command: its words, its folder, its variables, its three streams."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        self.pid = int(self._process.stdout.readline())
        timer = threading.Timer(LONGEST_SECONDS, os.kill, (self.pid, signal.SIGKILL))
        timer.start()
        try:
            return int(self._process.stdout.readline())
        finally:
            timer.cancel()

    def help_of(self, words: Sequence[str]) -> str:
        """All that a command says of itself; nothing where there is no such command."""
        if tuple(words) not in self._helps:
            with tempfile.TemporaryDirectory() as made:
                folder = Path(made)
                wide = {**environment(folder, self.checkout), "COLUMNS": "250"}
                for way in ("--help-all", "--help"):
                    order = self.order(folder, [*words, way], wide)
                    code = self.run(order)
                    self._helps[tuple(words)] = "" if code else (folder / ".out").read_text()
                    if not code:
                        break
        return self._helps[tuple(words)]

    def has(self, name: str) -> bool:
        """Whether there is a command of this name, with this option if one stands there."""
        command = [word for word in name.split() if not word.startswith("-")]
        last = name.rpartition(" ")[2]
        option = last if last.startswith("-") else ""
        said = self.help_of(command)
        return bool(said) and bool(re.search(rf"{re.escape(option)}(?![\w-])", said))

    @staticmethod
    def command_of(words: Sequence[str]) -> str:
        """The words that name a command, which may be one of a group."""
        return " ".join(words[: 1 + (words[:1] != [] and words[0] in GROUPS)])

    @staticmethod
    def order(folder: Path, words: Sequence[str], env: Mapping[str, str]) -> dict[str, object]:
        streams = {"stdin": os.devnull, "stdout": f"{folder}/.out", "stderr": f"{folder}/.err"}
        return {"words": [*words], "cwd": str(folder), "env": {**env}, **streams}


def fork() -> None:
    """Run each command that is asked for in a process of its own, one after another."""
    sys.path.remove(os.path.dirname(__file__))
    for name in LOADED:
        with suppress(ImportError):
            import_module(name)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            become(json.loads(line))
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def become(order: Mapping[str, Any]) -> None:
    """Be the command, to its end."""
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY
        os.dup2(os.open(order[name], flags), number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - the forker's is read from
    sys.argv = ["labeler", *order["words"]]
    code: Any = 1
    try:
        import_module("labeler.__main__").main()
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    for thread in threading.enumerate():
        if not (thread is threading.current_thread() or thread.daemon):
            thread.join()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(code))


def environment(folder: Path, checkout: Path) -> dict[str, str]:
    """All that a command sees of the environment: nothing that chooses a model or a width."""
    nowhere = "http://127.0.0.1:9"
    fixed = {"COLUMNS": "100", "NO_COLOR": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    fixed |= {"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "1"}
    places = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"), "LABELER_CACHE": "cache"}
    offline = {"OLLAMA_HOST": nowhere, "HF_ENDPOINT": nowhere, "PIP_NO_INDEX": "1"}
    ours = {"PATH": os.defpath, "OPENAI_API_KEY": "sk-test", "PYTHONPATH": str(checkout)}
    return {**fixed, **places, **offline, **ours}


class Scene(NamedTuple):
    """Where a case happens: its folder, its server, and the process that runs its commands."""

    folder: Path
    server: FakeServer
    forker: Forker

    def play(self, step: str | Step) -> dict[str, Any]:
        """What a step did, as it is kept."""
        if isinstance(step, str):
            return self._run(step)
        try:
            step.do(self)
        except Exception as error:  # a command before it may have left undone what it builds on
            return {"line": f"# {step.said}: {error!r}"}
        return {"line": f"# {step.said}"}

    def interrupt(self, number: signal.Signals) -> None:
        """Send a signal to the command that runs."""
        os.kill(self.forker.pid, number)

    def _run(self, line: str) -> dict[str, Any]:
        variables, words = self._parsed(line)
        for name, instead in GONE.items():
            is_named = line.startswith(name.partition(" --")[0]) and name.split()[-1] in words
            if is_named and not self.forker.has(name):
                return {"line": line, "gone": instead}
        before = contents(self.folder)
        given = words.pop() if "<" in words[-2:-1] else os.devnull
        words = [name for word in words if word != "<" for name in self._expanded(word)]
        env = {**environment(self.folder, self.forker.checkout), **variables}
        order = self.forker.order(self.folder, words, env)
        code = self.forker.run(order | {"stdin": given})
        out, err = (text_of(self.folder / name) for name in (".out", ".err"))
        after = contents(self.folder)
        kept, old = (
            {name: self._steady(text) for name, text in each.items()} for each in (after, before)
        )
        changed = [name for name in sorted(kept) if old.get(name) != kept[name]]
        new = {self._steady(f"file {name}"): kept[name] for name in changed}
        texts = {"stdout": self._steady(out), **new}
        values: dict[str, object] = {}
        read = [(name, value_of(name, text, words)) for name, text in texts.items() if text]
        said = {"stderr": without_timing(self._steady(err))}
        for name, value in read:
            if value is None:
                said[name] = texts[name]
            else:
                values[name] = value
        gone = sorted(before.keys() - after.keys())
        ran = {} if words == shlex.split(line) else {"ran": self._steady(shlex.join(words))}
        values |= {f"removed {name}": True for name in gone}
        return {"line": line, **ran, "exit": code, "values": values, "words": said}

    def _parsed(self, line: str) -> tuple[dict[str, str], list[str]]:
        """The variables before a command and its words, in the names that this checkout has."""
        found = re.match(r"((?:[A-Z_]+=\S* )*)(.*)", line)
        assert found
        variables = dict(pair.split("=", 1) for pair in found[1].split())
        command = found[2]
        for old, pattern, new in RENAMED:
            name = f"{self.forker.command_of(command.split())} {old}" if old[0] == "-" else old
            is_of = command.startswith(name.partition(" --")[0]) and re.search(pattern, command)
            if is_of and not self.forker.has(name):
                command = re.sub(pattern, new, command)
        name = self.forker.command_of(command.split())
        own = re.search(r"--json|--format|--help", command)
        if name and not own and self.forker.has(f"{name} --json"):
            command = re.sub(r"( < |$)", r" --json\1", command, count=1)
        address = self.server.base_url
        variables = {key: value.replace("SERVER", address) for key, value in variables.items()}
        return variables, shlex.split(command.replace("SERVER", address))

    def _expanded(self, word: str) -> list[str]:
        if not re.search(r"\*\S*\.(gz|trec)$", word):
            return [word]
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.glob(word))

    def _steady(self, text: str) -> str:
        """A text less what differs between two runs of the same code."""
        port = self.server.base_url.rpartition(":")[2].removesuffix("/v1")
        places = {str(self.folder): "FOLDER", str(self.forker.checkout): "CHECKOUT"}
        for place, name in {**places, f":{port}": ":PORT"}.items():
            text = text.replace(place, name)
        for pattern, name in CHANGING:
            text = re.sub(pattern, name, text)
        return text


def contents(folder: Path) -> dict[str, str]:
    """The text of every file in a folder by its path; what lies in HOME is other packages'."""
    paths = (Path(place, name) for place, _, names in os.walk(folder) for name in names)
    found = {path.relative_to(folder).as_posix(): path for path in paths}
    left_out = ("home/", "tmp/", ".out", ".err", "cache/")
    return {name: text_of(found[name]) for name in found if not name.startswith(left_out)}


def text_of(path: Path) -> str:
    """A file's text, unpacked; of what is no text its SHA-256, of a store that it is there."""
    if path.name.startswith("replies.db") or path.suffix == ".keys":
        return "(a store)\n"
    content = path.read_bytes()
    try:
        return (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    except (UnicodeDecodeError, EOFError):
        return f"(no text, SHA-256 {hashlib.sha256(content).hexdigest()})\n"


def without_timing(said: str) -> str:
    """Messages less the lines that only slow work shows, and of a crash the last line alone."""
    said = re.sub(r"^[\w ,]+: \d+/\d+(, .* left)?\n", "", said, flags=re.MULTILINE)
    before, found, trace = said.partition("Traceback (most recent call last):\n")
    return f"{before}{found}{trace.splitlines()[-1]}\n" if found else said


# What is a value.


def value_of(name: str, text: str, words: Sequence[str]) -> Any:
    """The values of an output or a file; `None` of words for people."""
    own = name.removesuffix(".gz")
    if own.endswith(PAGES):
        return None
    for read in (json.loads, json_lines):
        with suppress(ValueError):
            value = read(text) if text.lstrip()[:1] in "{[" else None
            if value is not None:
                return bounded(steady_value(value), text)
    is_table = ("csv" in words) if name == "stdout" else own.endswith(".csv")
    if is_table:
        return bounded(table_of(text), text)
    is_data = words[:1] == ["trec-eval"] or "-" in words if name == "stdout" else True
    return bounded(text.splitlines(), text) if is_data else None


def json_lines(text: str) -> list[object]:
    return [json.loads(line) for line in text.split("\n") if line]


def table_of(text: str) -> list[object]:
    """The rows of a table in CSV by their titles; as lists, where titles or rows are uneven."""
    rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")))
    is_even = len({len(row) for row in rows}) == 1 and len({*rows[0]}) == len(rows[0])
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]] if is_even else [*rows]


def steady_value(value: Any) -> Any:
    if isinstance(value, list):
        return [steady_value(each) for each in value]
    if isinstance(value, dict):
        pairs = value.items()
        return {k: k.upper() if k in VARYING and v else steady_value(v) for k, v in pairs}
    return value


def bounded(value: Any, text: str) -> Any:
    """A value as it is, or of a long one how many rows it has, and their SHA-256."""
    if len(text) <= LONGEST_TEXT:
        return value
    digest = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
    return {"rows": len(value), "sha256": digest}


def scalars(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Each value with its path; an empty list or object is one.

    Rows about prompts, each another, are told by the prompt, so that one may come or go.
    """
    if not (isinstance(value, (dict, list)) and value):
        yield path, value
        return
    names = [isinstance(each, dict) and str(each.get("prompt", "")) for each in value]
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    if all(names) and len({*names}) == len(names):
        pairs = zip(names, value, strict=True)
    for key, each in pairs:
        yield from scalars(each, f"{path}/{key}")


def is_sentence(path: str, value: object) -> bool:
    """Whether a text is words for people: of printed values, or of a card."""
    if not isinstance(value, str) or value.count(" ") < SENTENCE:
        return False
    is_printed = path.startswith("stdout") or path.partition("/")[0].endswith(".txt")
    return is_printed or "card.json" in path or path.rpartition("/")[2] in TOLD


# Recording and comparing.


def played(case: Case, files: Mapping[str, str | bytes], forker: Forker) -> list[dict[str, Any]]:
    """What the steps of a case did, one after another in a new folder."""
    from frozen_cases import grades

    from labeler.testing import FakeServer

    with tempfile.TemporaryDirectory(prefix="frozen-") as made, FakeServer(grades) as server:
        folder = Path(made).resolve()
        write_inputs(folder, files)
        scene = Scene(folder, server, forker)
        return [scene.play(step) for step in steps_of(case)]


def record(out: Path, checkout: Path, only: str, jobs: int) -> int:
    """Run the cases that are wanted and write what each of them did."""
    if not SHARED.is_dir():
        sys.exit(f"the shared data is not there: {SHARED}")
    os.nice(10)
    sys.path.insert(0, str(checkout))  # its server for tests, and no other checkout's
    names = [name for name in CASES if any(fnmatch(name, part) for part in only.split(","))]
    out.mkdir(parents=True, exist_ok=True)
    files = inputs()
    forkers: queue.Queue[Forker] = queue.Queue()
    for _ in range(jobs):
        forkers.put(Forker(checkout))

    def write(name: str) -> None:
        forker, began = forkers.get(), time.monotonic()
        steps = played(CASES[name], files, forker)
        forkers.put(forker)
        text = json.dumps(steps, indent=1, ensure_ascii=False, sort_keys=True)
        (out / f"{name}.json").write_bytes(text.encode(errors="surrogatepass"))
        print(f"{time.monotonic() - began:6.1f} s  {len(steps):3} steps  {name}", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(write, names))
    return 0 if names else 2


def compare(before: Path, after: Path, words: bool) -> int:
    """Print how the values of two recordings differ, case by case; 1 where they do."""
    names = sorted(path.name for path in after.glob("*.json"))
    differing, texts, figures = 0, 0, 0
    for name in names:
        if not (before / name).exists():
            print(f"{name}: not in {before}")
            continue
        lines = []
        old, new = (by_line(json.loads((place / name).read_bytes())) for place in (before, after))
        for line, step in old.items():
            found = difference(step, new.get(line, {}))
            lines += [f"$ {line[0]}", *found] if found else []
            if words:
                print(*worded(step, new.get(line, {})), sep="\n", end="")
            changed = changed_texts(step, new.get(line, {}))
            texts += len(changed)
            figures += sum(numbers(a) != numbers(b) for a, b in changed.values())
        differing += bool(lines)
        print("".join(f"{name}: {line}\n" for line in lines), end="")
    print(f"{differing} of {len(names)} cases differ in values", file=sys.stderr)
    print(f"{texts} texts differ (--words), {figures} of them in numbers", file=sys.stderr)
    return 1 if differing or not names else 0


def by_line(steps: Sequence[dict[str, Any]]) -> dict[tuple[str, int], dict[str, Any]]:
    """Steps by their line and how often it stood there before."""
    seen: Counter[str] = Counter()
    found = {}
    for step in steps:
        found[step["line"], seen[step["line"]]] = step
        seen[step["line"]] += 1
    return found


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Where the values of a step differ, less what changed on purpose."""
    if "gone" in new:
        return []
    if not new or "gone" in old:
        return ["  is not in both"]
    if "exit" not in old:
        return []
    if old.get("exit") != new.get("exit"):
        said = new.get("words", {}).get("stderr", "").strip().rpartition("\n")[2]
        return [f"  exit {old.get('exit')} -> {new.get('exit')}: {said}"]
    before, after = values_of(old), values_of(new)
    renamed = {path_now(old["line"], path): value for path, value in before.items()}
    lines: dict[str, list[str]] = {}
    for path in [*renamed, *(path for path in after if path not in renamed)]:
        values = renamed.get(path, Missing), after.get(path, Missing)
        if not is_equal(*values) and not is_meant(old["line"], path, *values):
            alike = re.sub(r"/\d+(?=/|$)", "/N", path)
            lines.setdefault(alike, []).append("  {}: {} -> {}".format(path, *map(shown, values)))
    return [
        f"{first}{f' (and {len(more)} like it)' if more else ''}" for first, *more in lines.values()
    ]


class Missing:
    """What stands where a recording has no value."""


def shown(value: object) -> str:
    return "(nothing)" if value is Missing else json.dumps(value, ensure_ascii=False)[:160]


def is_equal(old: object, new: object) -> bool:
    return type(old) is type(new) and (old == new or old != old)  # noqa: PLR0124 - both are nan


def values_of(step: Mapping[str, Any], *, sentences: bool = False) -> dict[str, Any]:
    """The values of a step by their paths, or its sentences."""
    found = [pair for name, value in step["values"].items() for pair in scalars(value, name)]
    kept = [pair for pair in found if is_sentence(*pair) == sentences]
    return {path: value for path, value in kept if not any(part in path for part in TIMED)}


def texts_of(step: Mapping[str, Any]) -> dict[str, str]:
    return {**step["words"], **values_of(step, sentences=True)}


def path_now(line: str, path: str) -> str:
    for command, pattern, new in KEYS:
        if re.match(command, line):
            path = re.sub(pattern, new, path)
    return path


def is_meant(line: str, path: str, old: object, new: object) -> bool:
    """Whether a table has a reason why this value came or went."""
    table = KEYS_GONE if new is Missing else KEYS_NEW if old is Missing else ()
    return any(re.match(key.command, line) and re.search(key.path, path) for key in table)


def changed_texts(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    if "values" not in old or "values" not in new:
        return {}
    before, after = texts_of(old), texts_of(new)
    names = [*before, *(name for name in after if name not in before)]
    pairs = {name: (before.get(name, ""), after.get(name, "")) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def worded(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """How the words of a step differ, as lines of a diff."""
    for name, (before, after) in changed_texts(old, new).items():
        is_figure = " (other numbers)" if numbers(before) != numbers(after) else ""
        yield f"$ {old['line']}  {name}{is_figure}"
        lines = difflib.unified_diff(before.split("\n"), after.split("\n"), n=0, lineterm="")
        yield from list(lines)[2:]
        yield ""


def numbers(text: str) -> Counter[str]:
    return Counter(re.findall(r"\d+(?:[.,]\d+)*", text))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("fork", help="what `record` starts")
    recording = actions.add_parser("record", help="run the commands and keep what they did")
    recording.add_argument("out", type=Path, metavar="OUT_DIR")
    recording.add_argument("--checkout", type=Path, default=ROOT, metavar="DIR", help="whose code")
    recording.add_argument("--only", default="*", metavar="PATTERNS", help="cases, as agree*,diff*")
    recording.add_argument("--jobs", type=int, default=1, metavar="N", help="cases at once")
    comparing = actions.add_parser("compare", help="print how two recordings differ")
    comparing.add_argument("before", type=Path, metavar="DIR_A")
    comparing.add_argument("after", type=Path, metavar="DIR_B")
    comparing.add_argument("--words", action="store_true", help="show how texts differ, too")
    given = parser.parse_args()
    if given.action == "fork":
        fork()
        return 0
    if given.action == "compare":
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `compare … | head` ends in silence
        return compare(given.before, given.after, given.words)
    return record(given.out, given.checkout.resolve(), given.only, given.jobs)


if __name__ == "__main__":
    sys.exit(main())
