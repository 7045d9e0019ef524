"""The one table of commands: what each is called, where help lists it, what it is for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from labeler.entry_points import fill

BUILD, JUDGE, MEASURE, LOOK, MORE = "build", "judge", "measure", "look", "more"
SHOWN = (BUILD, JUDGE, MEASURE, LOOK)
"""The groups whose commands `labeler --help` shows one by one; they are no word of a command."""

GROUPS = {
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
    """A command: its name, one sentence on what it does, an example, the group that help lists.

    `function` is `module:name`. Its parameters are the command's options and its docstring begins
    with `summary`. It is imported when the command runs: importing all takes longer than most run.
    `words` finds the command in `labeler help WORD`, where its name and help do not say them. It
    reads at least so many `files`: all its words without options, unless the first is a folder.
    """

    name: str
    summary: str
    example: str
    words: str = ""
    function: str = ""
    files: int = 0
    group: str = ""

    def load(self) -> Callable[..., Any]:
        """The function that does what the command says."""
        module, _, name = self.function.partition(":")
        function: Callable[..., Any] = getattr(import_module(module), name)
        return function


SIDE_ROOMS = {
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


def _group(group: str, *commands: Command) -> Iterator[Command]:
    """The commands of a group; its name is their first word where it is one of `GROUPS`.

    Each says what follows its name in the example, and where in `labeler.cli` its function is: by
    default that of its name in the module of its group, or `command` in the module of its name.
    """
    for each in commands:
        if _is_there(group) and _is_there(each.name):
            inside, verb = group in GROUPS, each.name.replace("-", "_")
            name = f"{group} {each.name}" if inside else each.name
            at = each.function or (f"{group}:{verb}" if inside else f"{verb}:command")
            example = f"labeler {name} {each.example}".rstrip()
            yield each._replace(
                name=name, example=example, function=f"labeler.cli.{at}", group=group
            )


_COMMANDS = (
    *_group(
        BUILD,
        Command(
            "demo",
            "Build, judge and measure a small collection, offline.",
            "-o demo/",
            function="build:demo",
        ),
        Command(
            "init", "Write a labeler.toml, the settings of this folder.", "", function="more:init"
        ),
        Command(
            "build",
            "Build a collection from documents, with queries and judgements.",
            "docs/ -o coll/ --queries 50",
        ),
        Command(
            "generate",
            "Write queries that the documents answer.",
            "coll/ --queries 50",
            function="queries:generate",
        ),
        Command(
            "pool",
            "Choose the pairs to judge: the first documents of every run.",
            "coll/ --depth 10 --run mine.trec",
        ),
        Command(
            "retrieve",
            "Ask your own search system for every query, and keep its run.",
            "coll/ --as live --url-template 'http://127.0.0.1:8000/?q={query}'",
            function="pool:retrieve",
        ),
    ),
    *_group(
        JUDGE,
        Command(
            "judge",
            "Have a model grade the pairs of the pool.",
            "coll/ --prompt four-grades --model gpt-4.1-mini --as first",
        ),
        Command(
            "relabel",
            "Judge the same pairs by another prompt or model; show what moved.",
            "coll/ --from first --prompt basic --as second",
        ),
        Command(
            "annotate", "Serve a page on which people grade pairs, blind.", "coll/ --rater anna"
        ),
    ),
    *_group(
        MEASURE,
        Command(
            "evaluate",
            "Score runs against qrels, with intervals and the share judged.",
            "qrels/human.qrels runs/*.trec",
            files=2,
        ),
        Command(
            "compare",
            "Say which of two systems to take, how sure that is, what would help.",
            "coll/ old=bm25 new=new.trec --html decision.html",
        ),
        Command(
            "agree",
            "Say how far assessors agree with people, and how sure that is.",
            "human.qrels gpt-4o.qrels",
            files=2,
        ),
        Command(
            "diff",
            "Show which grades changed, and whether systems change places.",
            "coll/ four-grades-gpt basic-gpt",
        ),
        Command(
            "correct",
            "Correct an assessor's scores by people's qrels of some queries.",
            "human.qrels llm.qrels runs/*.trec",
            function="correct:correct",
            files=3,
        ),
        Command(
            "power",
            "Say what so many queries can tell apart, and how many are needed.",
            "human.qrels runs/*.trec --difference 0.02",
            function="correct:power",
            files=2,
        ),
        Command("report", "Write what a collection says on one page.", "coll/ -o report.html"),
    ),
    *_group(
        LOOK,
        Command(
            "status",
            "Show what is judged, what failed, what it cost, how to go on.",
            "coll/",
            function="look:status",
        ),
        Command(
            "explain",
            "Show how a pair came by its grade: prompt, reply, attempts, cost.",
            "coll/ q1 d7",
            function="look:explain",
        ),
        Command(
            "validate",
            "Check a whole collection: ids, hashes, texts.",
            "coll/ --strict",
            function="look:validate",
        ),
        Command(
            "doctor",
            "Say which model would judge, try one call, estimate the cost.",
            "--model gpt-4.1-mini --pairs 5000",
            function="look:doctor",
        ),
    ),
    *_group(
        "corpus",
        Command(
            "ingest",
            "Cut documents into passages of about 200 words and write them as corpus.jsonl.",
            "docs/ -o coll/",
        ),
        Command(
            "update",
            "Read edited documents into a collection; passages that stay keep their grades.",
            "docs/ coll/ --dry-run",
        ),
        Command(
            "rechunk",
            "Cut a collection's documents anew; passages that stay keep their grades.",
            "coll/ --words 120",
        ),
    ),
    *_group(
        "queries",
        Command(
            "passages",
            "List the passages that queries are written from, and why others are not.",
            "coll/ --format csv -o passages.csv",
        ),
        Command(
            "from-log",
            "Sample real queries from a log by frequency, without personal data.",
            "log.csv --queries 200 -o real.jsonl",
        ),
    ),
    *_group(
        "runs",
        Command(
            "rerank",
            "Put a run's first documents in the order of an LLM.",
            "coll/ bm25 --as bm25-gpt --model gpt-4.1",
        ),
        Command(
            "fuse",
            "Fuse runs, by rank (RRF) or by score.",
            "bm25.trec dense.trec -o hybrid.trec",
            files=2,
        ),
        Command(
            "cut",
            "Keep the first documents of every query.",
            "bm25.trec -o top100.trec --depth 100",
            files=1,
        ),
        Command(
            "sort",
            "Sort by query, then as trec_eval does, and number the ranks anew.",
            "bm25.trec -o sorted.trec",
            files=1,
        ),
        Command(
            "convert",
            "Convert between TREC's columns, BEIR's JSON and parquet, by the files' names.",
            "bm25.trec.gz -o bm25.json",
            files=1,
        ),
        Command(
            "stats",
            "Count queries, documents, ties, and ranks that contradict their scores.",
            "bm25.trec dense.trec",
            files=1,
        ),
        Command(
            "validate",
            "Read runs strictly; warn of ties and ranks that contradict scores.",
            "bm25.trec.gz",
            files=1,
        ),
    ),
    *_group(
        "qrels",
        Command(
            "map",
            "Turn ratings of any kind into grades, and queries' texts into ids.",
            "a.csv -o b.qrels --map 0:0,0.5:1,1:2",
            function="qrels:map_grades",
        ),
        Command(
            "merge",
            "Put qrels together; pairs with several grades are listed.",
            "a.qrels b.qrels -o all.qrels --conflict max",
        ),
        Command(
            "convert",
            "Write qrels of any kind as TREC's, BEIR's, JSON, CSV or Parquet.",
            "human.qrels -o human.json",
        ),
        Command(
            "subset",
            "Keep the pairs of some queries or documents.",
            "human.qrels -o some.qrels --queries q1,q7",
        ),
        Command(
            "compare",
            "Count the pairs of two qrels, and cross-tabulate the grades of common ones.",
            "human.qrels llm.qrels",
        ),
        Command("stats", "Count queries, pairs and grades.", "human.qrels llm.qrels"),
        Command(
            "validate",
            "Read files strictly, and check their grades.",
            "human.qrels --scale 0:3",
        ),
    ),
    *_group(
        "people",
        Command(
            "sample",
            "Draw pairs for people into a sheet to grade in.",
            "coll/ --pairs 200 -o sheet.csv",
        ),
        Command(
            "import",
            "Check a graded sheet, and keep its grades as qrels of the collection.",
            "sheet.csv coll/ --as human2",
            function="people:take_in",
        ),
        Command(
            "merge",
            "Put raters' grades together into one final grade a pair.",
            "coll/ anna ben --as human",
        ),
        Command(
            "status",
            "Say how far raters are and how they agree.",
            "coll/",
            function="annotate:status",
        ),
    ),
    *_group(
        "lab",
        Command(
            "tune",
            "Ask several prompts and models what people judged: which agrees best?",
            "coll/ --prompts four-grades,basic --models local",
        ),
        Command(
            "panel",
            "Put assessors' grades together, and say how many judges that really is.",
            "coll/ four-grades-gpt basic-gpt by-topic-gpt --as panel",
        ),
        Command(
            "repeat",
            "Ask about each pair several times: how far do grades differ by chance?",
            "coll/ --times 3 --model gpt-4.1-mini",
        ),
        Command(
            "control",
            "Judge some graded pairs again: has the assessor drifted?",
            "coll/ --as first",
            words="drift",
        ),
        Command(
            "probe",
            "Say how often a document talks a model into a better grade.",
            "coll/ --prompt four-grades --model gpt-4.1-mini --require raised:0.05",
        ),
        Command(
            "calibrate",
            "Make probabilities of an assessor's grades, by people's grades of some pairs.",
            "coll/ first --probabilities first.jsonl",
            function="lab_grades:calibrate",
        ),
        Command(
            "depth",
            "Say how many passages to hand to a reader, so that a relevant one is among them.",
            "human.qrels mine.trec --miss 0.1",
            words="RAG top-k cutoff",
            function="lab_grades:depth",
        ),
        Command(
            "audit",
            "Say what a published mean over so many queries can tell.",
            "--measure recall@5 --value 1.00 --queries 10",
            words="benchmark claim published",
            function="lab_grades:audit",
        ),
        Command(
            "route",
            "Choose the pairs whose grades people should check.",
            "coll/ first second --pairs 200 --sheet sheet.csv",
            function="lab_grades:route",
        ),
        Command(
            "cascade",
            "Ask a strong assessor about the pairs of which a cheap one is unsure.",
            "coll/ cheap --model gpt-4.1 --as both",
            function="lab_grades:cascade",
        ),
        Command(
            "leaderboard",
            "Rank the same runs by two qrels: correlation, drops, and pairs that swap.",
            "human.qrels llm.qrels runs/*.trec",
            function="lab_grades:leaderboard",
            files=3,
        ),
    ),
    *_group(
        "batch",
        Command(
            "submit",
            "Hand over the pairs of the pool that have no answer.",
            "coll/ --model gpt-4.1-mini --as first",
        ),
        Command(
            "status", "Show the batches of a collection, as their server has them now.", "coll/"
        ),
        Command("collect", "Take in the answers of the batches that have ended.", "coll/"),
        Command(
            "wait",
            "Submit, wait until all have ended, and collect.",
            "coll/ --model gpt-4.1-mini --as first",
        ),
        Command(
            "cancel",
            "Cancel the batches that have not ended, and give up those that cannot be collected.",
            "coll/",
        ),
        Command(
            "write",
            "Write the requests of the pairs that have no answer, to a file.",
            "coll/ requests.jsonl --model qwen3-8b --as first",
        ),
        Command(
            "read",
            "Take in the answers to requests that were written to a file.",
            "coll/ answers.jsonl",
        ),
    ),
    *_group(
        "parts",
        Command(
            "make",
            "Cut a pool into partitions that workers anywhere judge.",
            "coll/ /shared/parts --model gpt-4.1-mini --as first",
        ),
        Command(
            "work",
            "Judge partitions that no other worker is at.",
            "/shared/parts --concurrency 16",
            words="ray slurm kubernetes",
        ),
        Command(
            "collect",
            "Fold the partitions that are judged into their collection.",
            "coll/ /shared/parts",
        ),
    ),
    *_group(
        "prompts",
        Command(
            "show", "Print a prompt as it is in its file; without a name, list all.", "four-grades"
        ),
        Command("new", "Write a copy of a prompt, to be edited.", "mine --from four-grades"),
        Command(
            "check",
            "Say what is wrong with a prompt's file, and show what it would send.",
            "mine.md",
        ),
    ),
    *_group(
        "store",
        Command(
            "verify",
            "Check every reply of the store against its checksum; exit 65 where one is off.",
            "coll/",
        ),
        Command("stats", "Count replies, tokens and cost by model.", "coll/"),
        Command(
            "prune",
            "Forget replies; what depends on them would be asked and paid for again.",
            "coll/ --before 2026-01-31",
        ),
        Command("gc", "Give the room of forgotten replies back to the disk.", "coll/"),
        Command(
            "copy",
            "Send a collection's replies into a database that machines share.",
            "coll/ --to postgresql://anna@db.example/labeler",
        ),
    ),
    *_group(
        MORE,
        Command(
            "monitor",
            "Say whether yesterday's evaluation still describes today's search.",
            "coll/ --documents docs/ -o monitor.html",
        ),
        Command(
            "import",
            "Say what a file, folder or archive of any tool holds, and take it into a collection.",
            "scifact/ --into coll/",
            words="beir hugging face ragas quepid",
            function="more:take_in",
        ),
        Command(
            "export",
            "Write a collection as files that another tool reads.",
            "coll/ --to beir -o beir/",
            function="more:write_export",
        ),
        Command(
            "fetch",
            "Fetch a public, human-judged collection, published prompts, or a model's file.",
            "model",
            function="more:fetch",
        ),
        Command(
            "trust",
            "Name a server once for all, so that files may name it.",
            "http://127.0.0.1:8000/v1 --key MY_KEY",
            function="more:trust",
        ),
        Command(
            "view",
            "Serve the report, and the comparison of any two systems, while one works.",
            "coll/",
        ),
        Command(
            "trec-eval",
            "Stand in for trec_eval 10: its arguments, its measures, its output.",
            "-q -m map -m P.5,10 qrels.txt run.txt",
        ),
        Command(
            "help",
            "Find commands, the field's terms and pages of the manual by their words.",
            "drift",
        ),
    ),
)

COMMANDS = {command.name: command for command in _COMMANDS}


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
