"""Assessors with a name: what a file may declare, and that it is what a server gets."""

import json
import re
from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.collection.judgements import origin_of, read_judgements
from labeler.data import Query
from labeler.errors import Misconfigured, Misuse
from labeler.judging.judge import JudgeOptions
from labeler.models.choose import KEYS, declared_assessors, find_assessor
from labeler.models.session import SessionOptions
from labeler.models.settings import AssessorSettings, Limits
from labeler.testing import Answer, Call, FakeServer, completion, small_collection

WHOLE = """
model = "qwen3-8b"
server = "http://127.0.0.1:8000/v1"
api = "chat"
key = "QWEN_API_KEY"
prompt = "basic"
reader = "json"
temperature = 0.6
top_p = 0.95
seed = 7
max_tokens = 300
reasoning_effort = "low"
thinking = 2048
body = { chat_template_kwargs = { enable_thinking = false } }
headers = { X-Team = "search" }
context = 8192
tokens_in = 0.05
tokens_out = 0.4
concurrency = 8
limits = { rpm = 60, tries = 3 }
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "assessors").mkdir()
    return tmp_path


def declare(project: Path, name: str, text: str) -> None:
    (project / "assessors" / f"{name}.toml").write_text(text, encoding="utf-8")


def test_every_setting_can_be_declared(project: Path) -> None:
    declare(project, "qwen", WHOLE)
    settings = find_assessor("qwen")
    assert {line.split(" = ")[0] for line in WHOLE.split("\n") if line} == set(KEYS)
    unset = AssessorSettings()
    assert all(getattr(settings, key) != getattr(unset, key) for key in KEYS)
    assert (settings.name, settings.file) == ("qwen", "assessors/qwen.toml")
    assert settings.limits == Limits(rpm=60, tries=3)


def test_whatever_takes_a_model_or_a_prompt_takes_an_assessor(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert execute(["help", "--json"]) == 0
    flags = {c["name"]: str(c["options"]) for c in json.loads(capsys.readouterr().out)}
    asking = {name for name in flags if re.search(r"'--(models?|prompts?)'", flags[name])}
    others = {"store prune", "explain"}  # these filter, and name a set
    assert len(asking) > 15
    assert {name for name in asking if "'--assessor'" not in flags[name]} == others


def test_an_assessor_is_found_by_name_in_either_file_and_by_path(project: Path) -> None:
    declare(project, "one", 'model = "m"')
    (project / "labeler.toml").write_text('[assessor.two]\nmodel = "n"\n', encoding="utf-8")
    assert list(declared_assessors()) == ["two", "one"]
    assert find_assessor("one").model == find_assessor("assessors/one.toml").model == "m"
    assert find_assessor("two").model == "n"
    with pytest.raises(Misuse, match="no assessor 'on'; did you mean 'one'"):
        find_assessor("on")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('model = "m"\ntemprature = 1\n', r"a.toml:2: temprature: .*did you mean 'temperature'"),
        ('model = "m"\n\ntemperature = "hot"\n', r"a.toml:3: temperature: Input should be"),
        ("temperature = 3\n", r"a.toml:1: temperature: expected 0 to 2"),
        ("temperature = nan\n", r"a.toml"),
        ("top_p = -1\n", r"a.toml:1: top_p: expected 0 to 1"),
        ("context = 10\n", r"a.toml:1: context: expected 256"),
        ('api = "soap"\n', r"a.toml:1: api: Input should be 'chat'|a.toml:1: api: Input should be"),
        ("tokens_in = 1\n", r"a.toml:1: tokens_in: a price is tokens_in and tokens_out, both"),
        ("limits = { rpn = 6 }\n", r"a.toml: limits.rpn: |a.toml:1: limits.rpn: "),
        ("limits = { tries = 0 }\n", r"tries: expected 1"),
        ("body = { messages = [] }\n", r"a.toml:1: body: 'messages' is what labeler itself sends"),
        ('model = "gguf:/x"\n', r"a.toml:1: model: a model's file is named by an option"),
        ("when = 2026-01-01\n", r"a.toml:1: when: no such setting"),
        ("seed = 2026-01-01\n", r"a.toml: expected texts, numbers and tables"),
        ("model = \n", r"a.toml: not TOML"),
    ],
)
def test_what_is_declared_wrong_is_named_with_its_line(
    project: Path, text: str, problem: str
) -> None:
    declare(project, "a", text)
    with pytest.raises(Misconfigured, match=problem):
        find_assessor("a")


@pytest.mark.parametrize(
    "text",
    [
        'key = "sk-live-0123456789"',
        'headers = { Authorization = "Bearer sk-live-0123456789" }',
        'headers = { x-api-key = "sk-live-0123456789" }',
    ],
)
def test_a_key_in_the_file_is_refused_and_not_shown(project: Path, text: str) -> None:
    declare(project, "a", text)
    with pytest.raises(Misconfigured) as refused:
        find_assessor("a")
    assert "0123456789" not in str(refused.value)
    assert re.search("variable", str(refused.value))


def test_limits_that_a_call_gives_go_before_the_declared_ones() -> None:
    declared = AssessorSettings(model="m", concurrency=3, limits=Limits(rpm=60, max_calls=10))
    options = SessionOptions(declared, limits=Limits(max_calls=5))
    assert (options.limits.rpm, options.limits.max_calls, options.concurrency) == (60, 5, 3)
    assert SessionOptions(declared, concurrency=2).concurrency == 2


def test_a_prompt_that_is_named_goes_before_the_declared_one() -> None:
    declared = AssessorSettings(model="m", prompt="basic")
    assert JudgeOptions(model=declared).grading_prompt == "basic"
    assert JudgeOptions("terse", declared).grading_prompt == "terse"
    assert JudgeOptions(model="m").grading_prompt == "four-grades"


def test_the_server_gets_what_is_declared_and_the_set_bears_the_name(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = small_collection(project / "coll")
    with FakeServer('{"reason": "r", "grade": 2}') as server:
        declare(project, "mild", 'model = "m"\nprompt = "basic"\ntemperature = 0.6\ntop_p = 0.9')
        words = ["judge", "coll", "--assessor", "mild", "--base-url", server.base_url, "--quiet"]
        assert execute(words) == 0, capsys.readouterr().err
        body = server.calls[-1].body
    assert (body["temperature"], body["top_p"], body["model"]) == (0.6, 0.9, "m")
    assert collection.judgement_names() == ("mild",)
    rows = list(read_judgements(collection.judgements("mild")))
    made_by = origin_of(collection.judgements("mild"))
    assert len(rows) == 4
    assert made_by is not None
    assert made_by.prompt.startswith("basic@")
    assert made_by.parameters["top_p"] == 0.9


def test_another_sampling_is_another_assessor_and_asks_again(project: Path) -> None:
    small_collection(project / "coll")
    with FakeServer('{"grade": 2}') as server:
        counts = []
        for name, top_p in (("a", 0.9), ("b", 0.9), ("c", 0.5)):
            declare(project, name, f'model = "m"\ntop_p = {top_p}')
            where = ["--base-url", server.base_url, "--quiet"]
            assert execute(["judge", "coll", "--assessor", name, *where]) == 0
            counts.append(sum("chat" in call.path for call in server.calls))
    assert counts[0] == counts[1] < counts[2]


def test_tune_takes_declared_assessors_by_their_names(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = [Query(f"q{n}", f"where do {n} cats sleep") for n in range(8)]
    collection = small_collection(project / "coll", queries=queries)
    collection.qrels("human").parent.mkdir(exist_ok=True)
    graded = [f"q{n} 0 cats 3\nq{n} 0 fish 0\n" for n in range(8)]
    collection.qrels("human").write_text("".join(graded))
    declare(project, "rule", 'model = "similarity"')
    declare(project, "plain", 'model = "similarity"\nprompt = "basic"')
    assert execute(["lab", "tune", "coll", "--models", "rule,plain", "--quiet"]) == 0, (
        capsys.readouterr()
    )
    assert re.search(r"^four-grades-rule|^rule", capsys.readouterr().out, re.MULTILINE)


def test_the_page_of_assessors_names_every_key() -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "assessors.md"
    sections = page.read_text(encoding="utf-8").split("\n## ")
    (keys,) = (section for section in sections if "| `model`, `server`, `api` |" in section)
    rows = re.findall(r"^\| (`.*?) \|", keys, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(KEYS)


def test_card_and_rows_record_what_was_sent_and_what_was_declared(project: Path) -> None:
    """A server that takes no temperature and another name of the limit, and thinks."""
    collection = small_collection(project / "coll")

    def picky(call: Call) -> Answer:
        body = call.body
        for name in ("max_tokens", "temperature", "logprobs"):
            if name in body:
                problem = f"Unsupported parameter: '{name}' is not supported with this model."
                return Answer({"error": {"message": problem, "param": name}}, 400)
        usage = {"prompt_tokens": 100, "completion_tokens": 310, "total_tokens": 410}
        details = {"completion_tokens_details": {"reasoning_tokens": 300}}
        return Answer(completion('{"grade": 2}', usage=usage | details))

    with FakeServer(picky) as server:
        words = ["judge", "coll", "--model", "m", "--base-url", server.base_url, "--as", "a"]
        assert execute([*words, "--quiet"]) == 0
        wire = server.calls[-1].body
    entry = json.loads(collection.card.read_text())["judge"]["a"]
    row = json.loads(collection.judgements("a").read_text().splitlines()[-1])
    for record in (entry, row):
        assert record["declared"] == {"temperature": 0.0, "max_tokens": 64}
    last = (entry.get("also_sent") or [entry["parameters"]])[-1]
    assert last == row["parameters"]
    assert "temperature" not in row["parameters"]
    limit = row["parameters"]["max_completion_tokens"]
    assert limit == wire["max_completion_tokens"] > 64
    assert origin_of(collection.judgements("a")).parameters == row["declared"]  # type: ignore[union-attr]  # it is there


def test_a_declared_reader_reads_in_place_of_the_prompts_own(project: Path) -> None:
    collection = small_collection(project / "coll")
    declare(project, "final", "model = 'm'\nreader = 'pattern:##final score: (\\d)'\n")
    with FakeServer("They match.\n##final score: 3") as server:
        words = ["judge", "coll", "--assessor", "final", "--base-url", server.base_url, "--quiet"]
        assert execute(words) == 0
        asked = len(server.calls)
        assert execute(["relabel", "coll", "--from", "final", "--reparse", "--as", "again"]) == 0
        assert len(server.calls) == asked
    for name in ("final", "again"):
        rows = list(read_judgements(collection.judgements(name)))
        assert [row.judged.outcome.grade for row in rows] == [3] * 4  # type: ignore[union-attr]  # all have one
        assert rows[0].origin.parameters["reader"].startswith("pattern:")


def test_relabeling_and_controls_ask_the_declared_assessor_again(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_collection(project / "coll")
    with FakeServer('{"reason": "r", "grade": 2}') as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        declare(project, "low", "model = 'm'\ntop_p = 0.9\ntemperature = 0.7\n")
        assert execute(["judge", "coll", "--assessor", "low", "--quiet"]) == 0
        judged = len(server.calls)
        again = ["relabel", "coll", "--from", "low", "--prompt", "basic", "--as", "b", "--quiet"]
        assert execute(again) == 0
        assert execute(["lab", "control", "coll", "--pairs", "2", "--as", "low", "--quiet"]) in {
            0,
            6,
        }
        bodies = [call.body for call in server.calls[judged:]]
    assert len(bodies) > 4
    assert {(body["model"], body["top_p"], body["temperature"]) for body in bodies} == {
        ("m", 0.9, 0.7)
    }


def test_headers_that_no_row_holds_have_to_be_declared_again(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small_collection(project / "coll")
    with FakeServer('{"reason": "r", "grade": 2}') as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        declare(project, "beta", "model = 'm'\nheaders = { X-Beta = 'on' }\n")
        assert execute(["judge", "coll", "--assessor", "beta", "--quiet"]) == 0
        again = ["relabel", "coll", "--from", "beta", "--prompt", "basic", "--as", "b", "--quiet"]
        capsys.readouterr()
        assert execute(again) == 2
        assert "headers or a context" in capsys.readouterr().err
        assert execute([*again, "--assessor", "beta"]) == 0
        assert server.calls[-1].headers["x-beta"] == "on"


def test_status_names_the_declared_assessor_with_which_judging_goes_on(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small_collection(project / "coll")
    with FakeServer("no grade") as server:
        declare(project, "low", "model = 'm'\ntop_p = 0.9\n")
        words = ["judge", "coll", "--assessor", "low", "--base-url", server.base_url, "--quiet"]
        assert execute(words) == 3
    capsys.readouterr()
    assert execute(["status", "coll"]) == 0
    told = capsys.readouterr().out.partition("to go on: labeler judge coll ")[2]
    assert {"--assessor low", "--retry-failed"} <= set(re.findall(r"--[a-z-]+(?: \w+)?", told))
    assert "--model" not in told
