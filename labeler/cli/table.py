"""The one table of commands: what each is called, where help lists it, what it is for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
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
    "prompts": "List the prompts; show, copy, check or compare them.",
    "store": "Look after the replies that a collection keeps.",
}
"""The groups whose names are a command's first word, and what their commands do."""


class Command(NamedTuple):
    """A command: its name, the group that help lists it in, and one sentence on what it does.

    `function` is `module:name`. Its parameters are the command's options and its docstring begins
    with `summary`. It is imported when the command runs: importing all takes longer than most run.
    `words` finds the command in `labeler help WORD`, where its name and help do not say them.
    """

    name: str
    group: str
    summary: str
    function: str
    example: str
    words: str = ""

    def load(self) -> Callable[..., Any]:
        """The function that does what the command says."""
        module, _, name = self.function.partition(":")
        function: Callable[..., Any] = getattr(import_module(module), name)
        return function


def _ours(name: str, group: str, summary: str, function: str, example: str, words: str = "") -> Any:
    """A command of this package: its function is in a module of `labeler.cli`."""
    return Command(
        name, group, summary, f"labeler.cli.{function}", f"labeler {name} {example}".strip(), words
    )


_COMMANDS: Sequence[Command] = (
    _ours(
        "demo",
        BUILD,
        "Build, judge and measure a small collection, offline.",
        "demo:command",
        "-o demo/ --model local",
    ),
    _ours("init", BUILD, "Write a labeler.toml, the settings of this folder.", "init:command", ""),
    _ours(
        "build",
        BUILD,
        "Build a collection from documents, with queries and judgements.",
        "build:command",
        "docs/ -o coll/ --queries 50",
    ),
    _ours(
        "generate",
        BUILD,
        "Write queries that the documents answer.",
        "generate:command",
        "coll/ --queries 50",
    ),
    _ours(
        "pool",
        BUILD,
        "Choose the pairs to judge: the first documents of every run.",
        "pool:command",
        "coll/ --depth 10 --run mine.trec",
    ),
    _ours(
        "retrieve",
        BUILD,
        "Ask your own search system for every query, and keep its run.",
        "retrieve:command",
        "coll/ --as live --url-template 'http://127.0.0.1:8000/?q={query}'",
    ),
    _ours(
        "judge",
        JUDGE,
        "Have a model grade the pairs of the pool.",
        "judge:command",
        "coll/ --prompt four-grades --model gpt-4.1-mini --as first",
    ),
    _ours(
        "relabel",
        JUDGE,
        "Judge the same pairs by another prompt or model; show what moved.",
        "relabel:command",
        "coll/ --from first --prompt basic --as second",
    ),
    _ours(
        "annotate",
        JUDGE,
        "Serve a page on which people grade pairs, blind.",
        "annotate:command",
        "coll/ --rater anna",
    ),
    _ours(
        "evaluate",
        MEASURE,
        "Score runs against qrels, with intervals and the share judged.",
        "evaluate:command",
        "qrels/human.qrels runs/*.trec",
    ),
    _ours(
        "agree",
        MEASURE,
        "Say how far assessors agree with people, and how sure that is.",
        "agree:command",
        "human.qrels gpt-4o.qrels",
    ),
    _ours(
        "diff",
        MEASURE,
        "Show which grades changed, and whether systems change places.",
        "diff:command",
        "coll/ four-grades-gpt basic-gpt",
    ),
    _ours(
        "correct",
        MEASURE,
        "Correct an assessor's scores by people's qrels of some queries.",
        "correct:command",
        "human.qrels llm.qrels runs/*.trec",
    ),
    _ours(
        "power",
        MEASURE,
        "Say what so many queries can tell apart, and how many are needed.",
        "power:command",
        "human.qrels runs/*.trec --difference 0.02",
    ),
    _ours(
        "report",
        MEASURE,
        "Write what a collection says on one page.",
        "report:command",
        "coll/ -o report.html",
    ),
    _ours(
        "status",
        LOOK,
        "Show what is judged, what failed, what it cost, how to go on.",
        "status:command",
        "coll/",
    ),
    _ours(
        "explain",
        LOOK,
        "Show how a pair came by its grade: prompt, reply, attempts, cost.",
        "explain:command",
        "coll/ q1 d7",
    ),
    _ours(
        "validate",
        LOOK,
        "Check a whole collection: ids, hashes, counts.",
        "validate:command",
        "coll/ --strict",
    ),
    _ours(
        "doctor",
        LOOK,
        "Say which model would judge, try one call, estimate the cost.",
        "doctor:command",
        "--model gpt-4.1-mini --pairs 5000",
    ),
    _ours(
        "corpus ingest",
        "corpus",
        "Cut documents into passages of about 200 words and write them as corpus.jsonl.",
        "ingest:command",
        "docs/ -o coll/",
    ),
    _ours(
        "corpus update",
        "corpus",
        "Read edited documents into a collection; passages that are still there keep their grades.",
        "update:command",
        "docs/ coll/ --dry-run",
        "shift",
    ),
    _ours(
        "corpus rechunk",
        "corpus",
        "Cut a collection's documents anew; passages that are still there keep their grades.",
        "rechunk:command",
        "coll/ --words 120",
    ),
    _ours(
        "corpus chunk",
        "corpus",
        "Compare lengths of passages: which lets retrieval find what the queries were written for.",
        "chunk:command",
        "coll/ --compare 100,200,400",
    ),
    _ours(
        "queries passages",
        "queries",
        "List the passages that generate asks about, in order, and why others are set aside.",
        "queries:passages",
        "coll/ --format csv -o passages.csv",
    ),
    _ours(
        "queries from-log",
        "queries",
        "Sample real queries from a log by frequency, with weights and without personal data.",
        "queries:from_log",
        "log.csv --queries 200 -o real.jsonl",
    ),
    _ours(
        "queries realism",
        "queries",
        "Say how generated queries differ from real ones: length, questions, words, difficulty.",
        "queries:realism",
        "coll/ --real clicked.csv",
    ),
    _ours(
        "runs rerank",
        "runs",
        "Put the first documents of a run in the order of an LLM or a cross-encoder.",
        "rerank:command",
        "coll/ bm25 --as bm25-gpt --model gpt-4.1",
    ),
    _ours(
        "runs fuse",
        "runs",
        "Fuse runs, by rank (RRF) or by score.",
        "fuse:command",
        "bm25.trec dense.trec -o hybrid.trec",
    ),
    _ours(
        "runs mmr",
        "runs",
        "Re-rank a run by maximal marginal relevance, with an encoder's vectors.",
        "mmr:command",
        "dense.trec coll/ -o diverse.trec",
    ),
    _ours(
        "runs cut",
        "runs",
        "Keep the first documents of every query.",
        "run:cut",
        "bm25.trec -o top100.trec --depth 100",
    ),
    _ours(
        "runs sort",
        "runs",
        "Sort by query, then as trec_eval does, and number the ranks anew.",
        "run:sort",
        "bm25.trec -o sorted.trec",
    ),
    _ours(
        "runs convert",
        "runs",
        "Convert between TREC's columns, BEIR's JSON and parquet, by the files' names.",
        "run:convert",
        "bm25.trec.gz -o bm25.json",
    ),
    _ours(
        "runs stats",
        "runs",
        "Count queries, documents, ties, and ranks that contradict their scores.",
        "run:stats",
        "bm25.trec dense.trec",
    ),
    _ours(
        "runs validate",
        "runs",
        "Read runs strictly; warn of ties and of ranks that contradict their scores.",
        "run:validate",
        "bm25.trec.gz",
    ),
    _ours(
        "qrels map",
        "qrels",
        "Turn ratings of any kind into grades, and queries' texts into ids.",
        "qrels:map_grades",
        "a.csv -o b.qrels --map 0:0,0.5:1,1:2",
        "binarise clip",
    ),
    _ours(
        "qrels merge",
        "qrels",
        "Put qrels together; pairs with several grades are listed.",
        "qrels:merge",
        "a.qrels b.qrels -o all.qrels --conflict max",
    ),
    _ours(
        "qrels convert",
        "qrels",
        "Write qrels of any kind as TREC's, BEIR's, JSON, CSV or Parquet, by the file's name.",
        "qrels:convert",
        "human.qrels -o human.json",
    ),
    _ours(
        "qrels subset",
        "qrels",
        "Keep the pairs of some queries, of some documents, or of queries drawn at random.",
        "qrels:subset",
        "human.qrels -o some.qrels --queries q1,q7",
    ),
    _ours(
        "qrels compare",
        "qrels",
        "Count the pairs of two qrels, and cross-tabulate the grades of common ones.",
        "qrels:compare",
        "human.qrels llm.qrels",
    ),
    _ours(
        "qrels stats",
        "qrels",
        "Count queries, pairs and grades.",
        "qrels:stats",
        "human.qrels llm.qrels",
    ),
    _ours(
        "qrels validate",
        "qrels",
        "Read files strictly, and check that their grades are on the scale and their ids known.",
        "qrels:validate",
        "human.qrels --scale 0,1,2,3",
    ),
    _ours(
        "people sample",
        "people",
        "Draw pairs for people into a sheet to grade in, with instructions beside it.",
        "sample:command",
        "coll/ --pairs 200 -o sheet.csv",
    ),
    _ours(
        "people import",
        "people",
        "Check a graded sheet, and keep its grades as qrels of the collection.",
        "import_labels:command",
        "sheet.csv coll/ --as human2",
        "import-labels",
    ),
    _ours(
        "lab tune",
        "lab",
        "Ask several prompts and models about pairs that people judged: which agrees best?",
        "lab:tune",
        "coll/ --prompts four-grades,basic --models local",
    ),
    _ours(
        "lab panel",
        "lab",
        "Put several assessors' grades together, and say how many judges that really is.",
        "lab:panel",
        "coll/ four-grades-gpt basic-gpt by-topic-gpt --as panel",
    ),
    _ours(
        "lab repeat",
        "lab",
        "Ask about each pair several times: how far do grades differ by chance?",
        "lab:repeat",
        "coll/ --times 3 --model gpt-4.1-mini",
        "judge --repeat",
    ),
    _ours(
        "lab control",
        "lab",
        "Judge some graded pairs again, each twice, and nothing else: has the assessor drifted?",
        "lab:control",
        "coll/ --as first --pairs 50 --fixed",
        "judge --control drift",
    ),
    _ours(
        "lab probe",
        "lab",
        "Say how often a document talks a model into a better grade.",
        "lab:probe",
        "coll/ --prompt four-grades --model gpt-4.1-mini --require raised:0.05",
    ),
    _ours(
        "lab calibrate",
        "lab",
        "Make probabilities that hold of an assessor's grades, by people's grades of some pairs.",
        "lab_grades:calibrate",
        "coll/ first --probabilities first.jsonl",
    ),
    _ours(
        "lab route",
        "lab",
        "Choose the pairs whose grades people should check, and say what that brings.",
        "lab_grades:route",
        "coll/ first second --pairs 200 --sheet sheet.csv",
    ),
    _ours(
        "lab cascade",
        "lab",
        "Ask a strong assessor about the pairs of which a cheap one is unsure.",
        "lab_grades:cascade",
        "coll/ cheap --model gpt-4.1 --as both",
    ),
    _ours(
        "lab leaderboard",
        "lab",
        "Rank the same runs by two qrels: correlation, drops, and pairs that swap.",
        "lab_grades:leaderboard",
        "human.qrels llm.qrels runs/*.trec",
    ),
    _ours(
        "batch submit",
        "batch",
        "Hand over the pairs of the pool that have no answer, at half of OpenAI's price.",
        "batch:submit",
        "coll/ --model gpt-4.1-mini --as first",
        "judge --batch",
    ),
    _ours(
        "batch status",
        "batch",
        "Show the batches of a collection, as their server has them now.",
        "batch:status",
        "coll/",
    ),
    _ours(
        "batch collect",
        "batch",
        "Take in the answers of the batches that have ended.",
        "batch:collect",
        "coll/",
    ),
    _ours(
        "batch wait",
        "batch",
        "Submit, wait until all have ended, and collect.",
        "batch:wait",
        "coll/ --model gpt-4.1-mini --as first",
    ),
    _ours(
        "batch cancel", "batch", "Cancel the batches that have not ended.", "batch:cancel", "coll/"
    ),
    _ours(
        "batch forget",
        "batch",
        "Give up the batches that cannot be collected, so that their pairs can be asked about.",
        "batch:forget",
        "coll/",
    ),
    _ours(
        "batch clear",
        "batch",
        "Remove the files of collected batches from their server.",
        "batch:clear",
        "coll/",
    ),
    _ours(
        "batch write",
        "batch",
        "Write the requests of the pairs that have no answer, where no server takes batches.",
        "batch:write",
        "coll/ requests.jsonl --model qwen3-8b --as first",
        "judge --batch-file",
    ),
    _ours(
        "batch read",
        "batch",
        "Take in the answers to requests that were written to a file.",
        "batch:read",
        "coll/ answers.jsonl",
    ),
    _ours(
        "parts make",
        "parts",
        "Cut a pool into partitions that workers anywhere judge, with all that they need.",
        "parts:make",
        "coll/ /shared/parts --model gpt-4.1-mini --as first",
        "judge --partition-rows",
    ),
    _ours(
        "parts work",
        "parts",
        "Judge partitions in this process, or on a Ray cluster that shares their folder.",
        "parts:work",
        "/shared/parts --concurrency 16",
        "judge --ray --workers",
    ),
    _ours(
        "parts collect",
        "parts",
        "Fold the partitions that are judged into their collection.",
        "parts:collect",
        "coll/ /shared/parts",
    ),
    _ours(
        "prompts show",
        "prompts",
        "Print a prompt as it is in its file; without a name, list all.",
        "prompts:show",
        "four-grades",
    ),
    _ours(
        "prompts new",
        "prompts",
        "Write a copy of a prompt, to be edited: NAME.md in this folder, or the output.",
        "prompts:new",
        "mine --from four-grades",
    ),
    _ours(
        "prompts check",
        "prompts",
        "Say everything that is wrong with a prompt's file, and show what it would send.",
        "prompts:check",
        "mine.md",
    ),
    _ours(
        "prompts diff",
        "prompts",
        "Say in what two prompts differ, word by word, and what that means for judging.",
        "prompts:diff",
        "four-grades mine.md",
    ),
    _ours(
        "store verify",
        "store",
        "Check the store, and every reply against its checksum; exit 65 where one does not match.",
        "store:verify",
        "coll/",
    ),
    _ours(
        "store stats", "store", "Count replies, tokens and cost by model.", "store:stats", "coll/"
    ),
    _ours(
        "store prune",
        "store",
        "Forget replies; what depends on them would be asked and paid for again.",
        "store:prune",
        "coll/ --before 2026-01-31",
    ),
    _ours(
        "store gc",
        "store",
        "Give the room of forgotten replies back to the disk.",
        "store:gc",
        "coll/",
    ),
    _ours(
        "store copy",
        "store",
        "Send a collection's replies into a database that machines share; the file stays.",
        "store:copy",
        "coll/ --to postgresql://anna@db.example/labeler",
    ),
    _ours(
        "monitor",
        MORE,
        "Say whether yesterday's evaluation still describes today's search, once a week or so.",
        "monitor:command",
        "coll/ --documents docs/ -o monitor.html",
    ),
    _ours(
        "import",
        MORE,
        "Keep people's judgements as qrels of a collection, and pool the pairs that they judged.",
        "import_qrels:command",
        "qrels/test.tsv coll/ --as human",
        "import-qrels",
    ),
    _ours(
        "export",
        MORE,
        "Write a collection as files that another tool reads, such as BEIR, ranx or ragas.",
        "export:command",
        "coll/ --to beir -o beir/",
    ),
    _ours(
        "fetch",
        MORE,
        "Fetch a public, human-judged collection, published prompts, or the embedded model's file.",
        "fetch:command",
        "model",
    ),
    _ours(
        "trust",
        MORE,
        "Name a server once for all, so that files may name it: it gets texts, and its own key.",
        "trust:command",
        "http://127.0.0.1:8000/v1 --key MY_KEY",
    ),
    _ours(
        "trec-eval",
        MORE,
        "Stand in for trec_eval 10: its arguments, its measures, its output.",
        "trec_eval:command",
        "-q -m map -m P.5,10 qrels.txt run.txt",
    ),
    _ours(
        "shift",
        MORE,
        "Say how far scores moved since documents changed: through labels, and through retrieval.",
        "shift:command",
        "coll/ --qrels human",
    ),
    _ours(
        "missed",
        MORE,
        "Estimate how many relevant documents the pool missed, from the pairs sampled beyond it.",
        "missed:command",
        "coll/ --qrels llm",
    ),
    _ours(
        "reuse",
        MORE,
        "Leave each run out of the pool in turn, and say how its score and rank would change.",
        "reuse:command",
        "coll/ --qrels llm",
    ),
    _ours(
        "help",
        MORE,
        "Find commands by words of their names, help and options.",
        "help:command",
        "drift",
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
