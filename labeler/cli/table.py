"""The one table of commands: what each is called, where help lists it, what it is for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from labeler.entry_points import fill

BUILD, JUDGE, MEASURE, LOOK, MORE = "build", "judge", "measure", "look", "more"
SHOWN = (BUILD, JUDGE, MEASURE, LOOK)
"""The groups whose commands `labeler --help` shows one by one; they are no word of a command."""

GROUPS: Mapping[str, str] = {
    "corpus": "Read documents into a collection, and keep it up with them.",
    "queries": "Look at queries, and take them from real traffic.",
    "runs": "Make runs of runs; look at, check, cut, sort and convert them.",
    "qrels": "Look at, check, merge and change qrels files.",
    "people": "Draw pairs for people, take their grades in, see how far they are.",
    "lab": "Choose, combine, probe and calibrate assessors.",
    "batch": "Judge by a provider's batches, at half the price.",
    "parts": "Judge a pool in partitions, by workers on many machines.",
    "prompts": "List the prompts; show, copy or check them.",
    "store": "Look after the replies that a collection keeps.",
}
"""The groups whose names are a command's first word, and what their commands do."""


class Command(NamedTuple):
    """A command: its name, the group that help lists it in, and one sentence on what it does.

    `function` is `module:name`. Its parameters are the command's options and its docstring begins
    with `summary`. It is imported when the command runs: importing all takes longer than most run.
    `words` finds the command in `labeler help WORD`, where its name and help do not say them. It
    reads at least so many `files`: all its words without options, unless the first is a folder.
    """

    name: str
    group: str
    summary: str
    function: str
    example: str
    words: str = ""
    files: int = 0

    def load(self) -> Callable[..., Any]:
        """The function that does what the command says."""
        module, _, name = self.function.partition(":")
        function: Callable[..., Any] = getattr(import_module(module), name)
        return function


class _Row(NamedTuple):
    """A command of this package, as its group's table has it.

    `example` is what follows the command's name. `at` says where in `labeler.cli` its function is:
    by default that of its name in the module of its group, or `command` in the module of its name.
    """

    name: str
    summary: str
    example: str
    words: str = ""
    at: str = ""
    files: int = 0


SIDE_ROOMS: Mapping[str, str] = {
    "annotate": "annotate",
    "report": "collection_report",
    "view": "collection_report",
    "lab": "lab",
    "batch": "scale",
    "parts": "scale",
    "monitor": "monitoring",
}
"""The folders of `labeler` without which there is no such command or group; the core needs none."""


def _is_there(name: str) -> bool:
    return (Path(__file__).parent.parent / SIDE_ROOMS.get(name, "cli")).is_dir()


def _group(group: str, *rows: _Row) -> Iterator[Command]:
    """The commands of a group; its name is their first word where it is one of `GROUPS`."""
    for row in rows:
        if not (_is_there(group) and _is_there(row.name)):
            continue
        inside, verb = group in GROUPS, row.name.replace("-", "_")
        name = f"{group} {row.name}" if inside else row.name
        at = row.at or (f"{group}:{verb}" if inside else f"{verb}:command")
        example = f"labeler {name} {row.example}".rstrip()
        yield Command(name, group, row.summary, f"labeler.cli.{at}", example, row.words, row.files)


_COMMANDS = (
    *_group(
        BUILD,
        _Row(
            "demo",
            "Build, judge and measure a small collection, offline.",
            "-o demo/ --model local",
            at="build:demo",
        ),
        _Row("init", "Write a labeler.toml, the settings of this folder.", "", at="more:init"),
        _Row(
            "build",
            "Build a collection from documents, with queries and judgements.",
            "docs/ -o coll/ --queries 50",
        ),
        _Row(
            "generate",
            "Write queries that the documents answer.",
            "coll/ --queries 50",
            words="realism",
            at="queries:generate",
        ),
        _Row(
            "pool",
            "Choose the pairs to judge: the first documents of every run.",
            "coll/ --depth 10 --run mine.trec",
        ),
        _Row(
            "retrieve",
            "Ask your own search system for every query, and keep its run.",
            "coll/ --as live --url-template 'http://127.0.0.1:8000/?q={query}'",
            at="pool:retrieve",
        ),
    ),
    *_group(
        JUDGE,
        _Row(
            "judge",
            "Have a model grade the pairs of the pool.",
            "coll/ --prompt four-grades --model gpt-4.1-mini --as first",
        ),
        _Row(
            "relabel",
            "Judge the same pairs by another prompt or model; show what moved.",
            "coll/ --from first --prompt basic --as second",
        ),
        _Row("annotate", "Serve a page on which people grade pairs, blind.", "coll/ --rater anna"),
    ),
    *_group(
        MEASURE,
        _Row(
            "evaluate",
            "Score runs against qrels, with intervals and the share judged.",
            "qrels/human.qrels runs/*.trec",
            words="reuse",
            files=2,
        ),
        _Row(
            "compare",
            "Say which of two systems to take, how sure that is, what would help.",
            "coll/ old=bm25 new=new.trec --html decision.html",
            words="decide",
        ),
        _Row(
            "agree",
            "Say how far assessors agree with people, and how sure that is.",
            "human.qrels gpt-4o.qrels",
            files=2,
        ),
        _Row(
            "diff",
            "Show which grades changed, and whether systems change places.",
            "coll/ four-grades-gpt basic-gpt",
            words="shift",
        ),
        _Row(
            "correct",
            "Correct an assessor's scores by people's qrels of some queries.",
            "human.qrels llm.qrels runs/*.trec",
            files=3,
        ),
        _Row(
            "power",
            "Say what so many queries can tell apart, and how many are needed.",
            "human.qrels runs/*.trec --difference 0.02",
            files=2,
        ),
        _Row("report", "Write what a collection says on one page.", "coll/ -o report.html"),
    ),
    *_group(
        LOOK,
        _Row(
            "status",
            "Show what is judged, what failed, what it cost, how to go on.",
            "coll/",
            at="look:status",
        ),
        _Row(
            "explain",
            "Show how a pair came by its grade: prompt, reply, attempts, cost.",
            "coll/ q1 d7",
            at="look:explain",
        ),
        _Row(
            "validate",
            "Check a whole collection: ids, hashes, texts.",
            "coll/ --strict",
            at="look:validate",
        ),
        _Row(
            "doctor",
            "Say which model would judge, try one call, estimate the cost.",
            "--model gpt-4.1-mini --pairs 5000",
            at="look:doctor",
        ),
    ),
    *_group(
        "corpus",
        _Row(
            "ingest",
            "Cut documents into passages of about 200 words and write them as corpus.jsonl.",
            "docs/ -o coll/",
        ),
        _Row(
            "update",
            "Read edited documents into a collection; passages that stay keep their grades.",
            "docs/ coll/ --dry-run",
        ),
        _Row(
            "rechunk",
            "Cut a collection's documents anew; passages that stay keep their grades.",
            "coll/ --words 120",
        ),
    ),
    *_group(
        "queries",
        _Row(
            "passages",
            "List the passages that queries are written from, and why others are not.",
            "coll/ --format csv -o passages.csv",
        ),
        _Row(
            "from-log",
            "Sample real queries from a log by frequency, without personal data.",
            "log.csv --queries 200 -o real.jsonl",
        ),
    ),
    *_group(
        "runs",
        _Row(
            "rerank",
            "Put a run's first documents in the order of an LLM.",
            "coll/ bm25 --as bm25-gpt --model gpt-4.1",
        ),
        _Row(
            "fuse",
            "Fuse runs, by rank (RRF) or by score.",
            "bm25.trec dense.trec -o hybrid.trec",
            files=2,
        ),
        _Row(
            "cut",
            "Keep the first documents of every query.",
            "bm25.trec -o top100.trec --depth 100",
            files=1,
        ),
        _Row(
            "sort",
            "Sort by query, then as trec_eval does, and number the ranks anew.",
            "bm25.trec -o sorted.trec",
            files=1,
        ),
        _Row(
            "convert",
            "Convert between TREC's columns, BEIR's JSON and parquet, by the files' names.",
            "bm25.trec.gz -o bm25.json",
            files=1,
        ),
        _Row(
            "stats",
            "Count queries, documents, ties, and ranks that contradict their scores.",
            "bm25.trec dense.trec",
            files=1,
        ),
        _Row(
            "validate",
            "Read runs strictly; warn of ties and ranks that contradict scores.",
            "bm25.trec.gz",
            files=1,
        ),
    ),
    *_group(
        "qrels",
        _Row(
            "map",
            "Turn ratings of any kind into grades, and queries' texts into ids.",
            "a.csv -o b.qrels --map 0:0,0.5:1,1:2",
            words="binarise clip",
            at="qrels:map_grades",
        ),
        _Row(
            "merge",
            "Put qrels together; pairs with several grades are listed.",
            "a.qrels b.qrels -o all.qrels --conflict max",
        ),
        _Row(
            "convert",
            "Write qrels of any kind as TREC's, BEIR's, JSON, CSV or Parquet.",
            "human.qrels -o human.json",
        ),
        _Row(
            "subset",
            "Keep the pairs of some queries or documents.",
            "human.qrels -o some.qrels --queries q1,q7",
        ),
        _Row(
            "compare",
            "Count the pairs of two qrels, and cross-tabulate the grades of common ones.",
            "human.qrels llm.qrels",
        ),
        _Row("stats", "Count queries, pairs and grades.", "human.qrels llm.qrels"),
        _Row(
            "validate",
            "Read files strictly, and check their grades.",
            "human.qrels --scale 0,1,2,3",
        ),
    ),
    *_group(
        "people",
        _Row(
            "sample",
            "Draw pairs for people into a sheet to grade in.",
            "coll/ --pairs 200 -o sheet.csv",
        ),
        _Row(
            "import",
            "Check a graded sheet, and keep its grades as qrels of the collection.",
            "sheet.csv coll/ --as human2",
            words="import-labels",
            at="people:take_in",
        ),
        _Row(
            "merge",
            "Put raters' grades together into one final grade a pair.",
            "coll/ anna ben --as human",
        ),
        _Row(
            "status",
            "Say how far raters are and how they agree.",
            "coll/",
            words="--status",
            at="annotate:status",
        ),
    ),
    *_group(
        "lab",
        _Row(
            "tune",
            "Ask several prompts and models what people judged: which agrees best?",
            "coll/ --prompts four-grades,basic --models local",
        ),
        _Row(
            "panel",
            "Put assessors' grades together, and say how many judges that really is.",
            "coll/ four-grades-gpt basic-gpt by-topic-gpt --as panel",
        ),
        _Row(
            "repeat",
            "Ask about each pair several times: how far do grades differ by chance?",
            "coll/ --times 3 --model gpt-4.1-mini",
            words="--repeat",
        ),
        _Row(
            "control",
            "Judge some graded pairs again: has the assessor drifted?",
            "coll/ --as first --pairs 50",
            words="--control drift",
        ),
        _Row(
            "probe",
            "Say how often a document talks a model into a better grade.",
            "coll/ --prompt four-grades --model gpt-4.1-mini --require raised:0.05",
        ),
        _Row(
            "calibrate",
            "Make probabilities of an assessor's grades, by people's grades of some pairs.",
            "coll/ first --probabilities first.jsonl",
            at="lab_grades:calibrate",
        ),
        _Row(
            "depth",
            "Say how many passages to hand to a reader, so that a relevant one is among them.",
            "human.qrels mine.trec --miss 0.1",
            words="RAG top-k cutoff",
            at="lab_limits:depth",
        ),
        _Row(
            "audit",
            "Say what a published mean over so many queries can tell.",
            "--measure recall@5 --value 1.00 --queries 10",
            words="benchmark claim published",
            at="lab_limits:audit",
        ),
        _Row(
            "route",
            "Choose the pairs whose grades people should check.",
            "coll/ first second --pairs 200 --sheet sheet.csv",
            at="lab_grades:route",
        ),
        _Row(
            "cascade",
            "Ask a strong assessor about the pairs of which a cheap one is unsure.",
            "coll/ cheap --model gpt-4.1 --as both",
            at="lab_grades:cascade",
        ),
        _Row(
            "leaderboard",
            "Rank the same runs by two qrels: correlation, drops, and pairs that swap.",
            "human.qrels llm.qrels runs/*.trec",
            at="lab_grades:leaderboard",
            files=3,
        ),
    ),
    *_group(
        "batch",
        _Row(
            "submit",
            "Hand over the pairs of the pool that have no answer.",
            "coll/ --model gpt-4.1-mini --as first",
            words="--batch",
        ),
        _Row("status", "Show the batches of a collection, as their server has them now.", "coll/"),
        _Row("collect", "Take in the answers of the batches that have ended.", "coll/"),
        _Row(
            "wait",
            "Submit, wait until all have ended, and collect.",
            "coll/ --model gpt-4.1-mini --as first",
        ),
        _Row(
            "cancel",
            "Cancel the batches that have not ended, and give up those that cannot be collected.",
            "coll/",
        ),
        _Row(
            "write",
            "Write the requests of the pairs that have no answer, to a file.",
            "coll/ requests.jsonl --model qwen3-8b --as first",
            words="--batch-file",
        ),
        _Row(
            "read",
            "Take in the answers to requests that were written to a file.",
            "coll/ answers.jsonl",
        ),
    ),
    *_group(
        "parts",
        _Row(
            "make",
            "Cut a pool into partitions that workers anywhere judge.",
            "coll/ /shared/parts --model gpt-4.1-mini --as first",
            words="--partition-rows",
        ),
        _Row(
            "work",
            "Judge partitions that no other worker is at.",
            "/shared/parts --concurrency 16",
            words="ray slurm kubernetes",
        ),
        _Row(
            "collect",
            "Fold the partitions that are judged into their collection.",
            "coll/ /shared/parts",
        ),
    ),
    *_group(
        "prompts",
        _Row(
            "show", "Print a prompt as it is in its file; without a name, list all.", "four-grades"
        ),
        _Row(
            "new",
            "Write a copy of a prompt, to be edited.",
            "mine --from four-grades",
        ),
        _Row(
            "check",
            "Say what is wrong with a prompt's file, and show what it would send.",
            "mine.md",
        ),
    ),
    *_group(
        "store",
        _Row(
            "verify",
            "Check every reply of the store against its checksum; exit 65 where one is off.",
            "coll/",
        ),
        _Row("stats", "Count replies, tokens and cost by model.", "coll/"),
        _Row(
            "prune",
            "Forget replies; what depends on them would be asked and paid for again.",
            "coll/ --before 2026-01-31",
        ),
        _Row("gc", "Give the room of forgotten replies back to the disk.", "coll/"),
        _Row(
            "copy",
            "Send a collection's replies into a database that machines share.",
            "coll/ --to postgresql://anna@db.example/labeler",
        ),
    ),
    *_group(
        MORE,
        _Row(
            "monitor",
            "Say whether yesterday's evaluation still describes today's search.",
            "coll/ --documents docs/ -o monitor.html",
        ),
        _Row(
            "import",
            "Say what a file, folder or archive of any tool holds, and take it into a collection.",
            "scifact/ --into coll/",
            words="import-qrels beir hugging face ragas quepid",
            at="more:take_in",
        ),
        _Row(
            "export",
            "Write a collection as files that another tool reads.",
            "coll/ --to beir -o beir/",
            at="more:write_export",
        ),
        _Row(
            "fetch",
            "Fetch a public, human-judged collection, published prompts, or a model's file.",
            "model",
            at="more:fetch",
        ),
        _Row(
            "trust",
            "Name a server once for all, so that files may name it.",
            "http://127.0.0.1:8000/v1 --key MY_KEY",
            at="more:trust",
        ),
        _Row(
            "view", "Serve the report while one works: each look shows what stands there.", "coll/"
        ),
        _Row(
            "trec-eval",
            "Stand in for trec_eval 10: its arguments, its measures, its output.",
            "-q -m map -m P.5,10 qrels.txt run.txt",
        ),
        _Row(
            "help",
            "Find commands, the field's terms and pages of the manual by their words.",
            "drift",
        ),
    ),
)

COMMANDS: dict[str, Command] = {command.name: command for command in _COMMANDS}


def named_by(words: Sequence[str]) -> Command | None:
    """The command that the first words of a line name: of a group, the first two."""
    name = " ".join(words[: 2 if words[:1] and words[0] in GROUPS else 1])
    if name not in COMMANDS and name and not name.startswith("-") and name not in GROUPS:
        fill(COMMANDS, "commands", Command)
    return COMMANDS.get(name)


def commands_of(group: str) -> Iterable[Command]:
    """The commands of a group, in the order in which help lists them."""
    fill(COMMANDS, "commands", Command)
    return (command for command in COMMANDS.values() if command.group == group)
