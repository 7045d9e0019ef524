"""Keys and texts go to a place that a person named, whatever a file says."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from every_row import every_row
from made import grade_in, make_collection
from stranger import Stranger

from labeler.cli import execute
from labeler.collection.batches import BatchRecord, write_batch
from labeler.collection.layout import Collection
from labeler.errors import BadInput, LabelerError, Misconfigured
from labeler.judging.judge import JudgeOptions, judge
from labeler.judging.relabel import asked_again
from labeler.scale.partitions.work import Share, judge_partitions
from labeler.scale.partitions.write import write_partitions
from labeler.testing import FakeServer, fake_model
from labeler.wire.addresses import AZURE, AZURE_KEY, PROVIDERS, identity
from labeler.wire.gate import admit, forget, trust, trusted

KEY, OTHER = "sk-canary-7d1f0a", "sk-other-99aa88"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's folder, with a key and a server of their own; nothing is trusted yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-anthropic-1")
    for name in ("LABELER_MODEL", "LABELER_EMBEDDINGS_URL", "OLLAMA_HOST", "LABELER_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def judged_at(address: str) -> Collection:
    """A collection whose judgements say that they were made at an address."""
    collection = make_collection(Path("coll"))
    model = fake_model('{"grade": 1}', f"{address} fake")
    judge(collection, model=model, name="base")
    return collection


def handed_over_at(address: str) -> None:
    """A collection with a batch that waits at an address."""
    collection, record = make_collection(Path("coll")), ("t", "base", "four-grades", "fake")
    asked = f"{address} fake", address, 1, "2026-01-01T00:00:00+00:00"
    ids = {"status": "in_progress", "file_id": "file-1", "batch_id": "batch-1"}
    write_batch(collection, BatchRecord(1, *record, *asked, **ids))


def cut_at(address: str, database: str = "") -> None:
    """A folder of partitions whose job says who judges, and where replies are kept."""
    model = fake_model('{"grade": 1}', f"{address} fake")
    options = JudgeOptions(model=model, name="base")
    write_partitions(make_collection(Path("coll")), Path("parts"), options)
    path = Path("parts/job.json")
    job = json.loads(path.read_text()) | {"model": "fake", "server": address, "store": database}
    path.write_text(json.dumps(job))


def settings_with(address: str) -> None:
    del os.environ["OPENAI_BASE_URL"]  # which goes before the file
    make_collection(Path("coll"))
    Path("labeler.toml").write_text(f'[model]\nmodel = "fake"\nserver = "{address}"\n')


def declared_at(address: str) -> None:
    make_collection(Path("coll"))
    Path("assessors").mkdir()
    text = f'model = "fake"\nserver = "{address}"\nkey = "OPENAI_API_KEY"\n'
    Path("assessors/evil.toml").write_text(text)


def worker() -> int:
    """The exit code of a worker that judges a partition."""
    try:
        judge_partitions("parts", Share(), 0)
    except LabelerError as error:
        print(error)
        return error.exit_code
    return 0


def command(*words: str) -> Callable[[], int]:
    return lambda: execute([*words])


ATTACKS: dict[str, tuple[Callable[[str], object], Callable[[], int], str]] = {
    "relabel": (
        judged_at,
        command("relabel", "coll", "--from", "base", "--prompt", "basic", "--as", "mine"),
        "coll/judgements/base.jsonl",
    ),
    "control": (
        judged_at,
        command("lab", "control", "coll", "--pairs", "3", "--as", "base"),
        "coll/judgements/base.jsonl",
    ),
    **{
        f"batch {verb}": (
            handed_over_at,
            command("batch", verb, "coll"),
            "coll/batches",
        )
        for verb in ("status", "collect", "cancel")
    },
    "partition": (cut_at, worker, "parts"),
    "settings": (settings_with, command("judge", "coll"), "labeler.toml"),
    "assessor": (declared_at, command("judge", "coll", "--assessor", "evil"), "assessors/evil"),
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_an_address_that_a_file_alone_names_gets_nothing(
    attack: str, host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare, act, file = ATTACKS[attack]
    with Stranger() as stranger:
        address = stranger.address.replace("127.0.0.1", host)
        prepare(address)
        capsys.readouterr()
        assert act() == 78
        assert stranger.connections() == 0
    shown = capsys.readouterr()
    (line,) = [line for line in (shown.out + shown.err).splitlines() if "labeler trust" in line]
    assert file in line.partition(": it alone names")[0]
    assert line.endswith(f"labeler trust {address}")


@pytest.mark.parametrize("attack", ["relabel", "control", "partition", "settings", "assessor"])
def test_once_a_person_has_named_it_the_same_address_is_asked(attack: str) -> None:
    prepare, act, _ = ATTACKS[attack]
    with FakeServer(grade_in) as server:
        prepare(server.base_url)
        trust(server.base_url.removesuffix("/v1"), "OPENAI_API_KEY")
        assert act() == (6 if attack == "control" else 0)  # one control tells nothing yet
        assert {call.headers["authorization"] for call in server.calls} == {f"Bearer {KEY}"}


def test_a_database_that_a_folder_of_partitions_alone_names_gets_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Stranger() as stranger:
        port = stranger.address.removesuffix("/v1").rpartition(":")[2]
        database = f"postgresql://someone@127.0.0.1:{port}/replies"
        cut_at("http://127.0.0.1:9/v1", database)
        assert worker() == 78
        assert f"labeler trust {database}" in capsys.readouterr().out
        assert stranger.connections() == 0


def test_what_the_caller_of_a_worker_names_is_not_the_folders_word() -> None:
    with FakeServer(grade_in) as server:
        cut_at(server.base_url)
        (judged,) = judge_partitions("parts", Share(named=(server.base_url,)), 0)
    assert judged.judged == judged.pairs == 10


@pytest.mark.parametrize(("key", "sent"), [("", "Bearer none"), ("OTHER_KEY", f"Bearer {OTHER}")])
def test_a_trusted_address_gets_the_key_that_was_trusted_with_it(
    key: str, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_KEY", OTHER)
    with FakeServer(grade_in) as server:
        judged_at(server.base_url)
        trust(server.base_url.replace("127.0.0.1", "localhost"), key)
        again = ["relabel", "coll", "--from", "base", "--prompt", "basic", "--as", "mine"]
        assert execute(again) == 0
        assert {call.headers["authorization"] for call in server.calls} == {sent}


KEYS = {
    "OPENAI_API_KEY": "sk-openai-1",
    "ANTHROPIC_API_KEY": "sk-anthropic-1",
    "GOOGLE_API_KEY": "google-1",
    "GROQ_API_KEY": "groq-1",
    "AZURE_OPENAI_API_KEY": "azure-1",
    "LABELER_EMBEDDINGS_KEY": "embeddings-1",
    "MY_KEY": "mine-1",
}


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("https://api.openai.com/v1", "sk-openai-1"),
        ("https://api.openai.com:443/v1", "sk-openai-1"),
        ("https://api.anthropic.com/v1", "sk-anthropic-1"),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "google-1"),
        ("https://api.groq.com/openai/v1", "groq-1"),
        ("https://me.openai.azure.com/openai/v1", "azure-1"),
        ("http://127.0.0.1:11434/v1", ""),
        ("http://localhost:8001/v1", "embeddings-1"),
        ("http://localhost:8002/v1", "sk-openai-1"),
        ("http://trusted.example/v1", "mine-1"),
        ("http://trusted.example/v1/deeper", "mine-1"),
        ("http://trusted.example/v10", "sk-openai-1"),
        ("http://api.openai.com/v1", "sk-openai-1"),
        ("https://api.groq.com.example/v1", "sk-openai-1"),
    ],
)
def test_each_address_that_a_person_names_gets_the_key_that_is_its_own(
    address: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LABELER_EMBEDDINGS_URL", "http://127.0.0.1:8001/v1")
    trust("http://trusted.example/v1", "MY_KEY")
    assert admit(address).key == key


@every_row(
    ("address", "admitted"),
    [
        ("https://api.openai.com/v1", True),
        ("https://api.anthropic.com", True),
        ("http://api.openai.com/v1", False),
        ("https://api.openai.com:8443/v1", False),
        ("https://api.openai.com.evil.example/v1", False),
        ("https://evil.openai.azure.com/openai/v1", False),
        ("http://127.0.0.1:11434/v1", False),
        ("http://localhost:9/v1", True),
        ("http://[::1]:9/v1", True),
        ("http://127.0.0.1:9/v1?model=x", True),
        ("http://127.0.0.1:9/v1/deeper", True),
        ("http://127.0.0.1:9/v1/../other", False),
        ("http://127.0.0.1:9/v1/%2e%2e/other", False),
        ("http://127.0.0.1:9/v10", False),
        ("http://127.0.0.1:9", False),
        ("http://127.0.0.2:9/v1", False),
        ("https://127.0.0.1:9/v1", False),
    ],
)
def test_a_file_may_name_what_somebody_else_names_too(address: str, admitted: bool) -> None:
    if admitted:
        assert admit(address, named_by="a file").address == address
    else:
        with pytest.raises(Misconfigured, match=r"a file: it alone names .* labeler trust"):
            admit(address, named_by="a file")


def test_a_query_that_the_environment_names_may_be_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gate.example/v1?to=mine")
    assert admit("http://gate.example/v1?to=mine", named_by="a file")
    with pytest.raises(Misconfigured):
        admit("http://gate.example/v1?to=theirs", named_by="a file")


@pytest.mark.parametrize("variable", ["AWS_SECRET", "ANTHROPIC_API_KEY"])
@pytest.mark.parametrize("address", ["https://api.openai.com/v1", "http://127.0.0.1:9/v1"])
def test_a_file_does_not_say_which_key_is_sent(
    variable: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "secret")
    with pytest.raises(Misconfigured, match=variable):
        admit(address, named_by="a file", key=variable)


def test_the_key_of_one_provider_goes_to_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-anthropic-1")
    with pytest.raises(Misconfigured, match=r"its own is in GROQ_API_KEY"):
        admit("https://api.groq.com/openai/v1")
    with pytest.raises(Misconfigured, match=r"is the key of api\.anthropic\.com"):
        admit("https://api.openai.com/v1", key="ANTHROPIC_API_KEY")
    with pytest.raises(Misconfigured, match=r"is the key of api\.anthropic\.com"):
        trust("https://api.groq.com/openai/v1", "ANTHROPIC_API_KEY")


@pytest.mark.parametrize("address", ["nonsense", "ftp://host/v1", "http://", "http:///v1", "//h"])
def test_a_file_that_names_no_address_is_bad_input(address: str) -> None:
    collection = judged_at(address)
    with pytest.raises(BadInput, match=r"base\.jsonl: .*expected an address"):
        asked_again(collection, "base", JudgeOptions())


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"addresses": {"x": 1}}', "[" * 10_000])
def test_a_damaged_list_of_trusted_addresses_trusts_nobody(text: str) -> None:
    trust("http://127.0.0.1:8000/v1")
    (path,) = Path("state").rglob("trusted.json")
    path.write_text(text)
    with pytest.raises(Misconfigured, match=r"trusted\.json: "):
        admit("http://127.0.0.1:8000/v1", named_by="a file")


def test_what_is_trusted_is_listed_and_forgotten(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["trust", "http://localhost:8000/v1/", "--key", "MY_KEY"]) == 0
    assert execute(["trust", "http://127.0.0.1:8000/v1", "--key", "NEW_KEY"]) == 0
    assert execute(["trust", "http://user:secret@h.example/v1"]) == 78
    assert execute(["trust", "http://h.example/v1", "--key", "sk-1234-secret"]) == 2
    assert trusted() == {"http://127.0.0.1:8000/v1": "NEW_KEY"}
    capsys.readouterr()
    assert execute(["trust"]) == 0
    assert capsys.readouterr().out == "http://127.0.0.1:8000/v1  NEW_KEY\n"
    assert execute(["trust", "http://[::1]:8000/v1", "--forget"]) == 0
    assert trusted() == {}
    assert execute(["trust", "http://[::1]:8000/v1", "--forget"]) == 2
    assert "secret" not in capsys.readouterr().err


def test_forgotten_it_gets_nothing_again() -> None:
    trust("http://127.0.0.1:8000/v1")
    assert admit("http://127.0.0.1:8000/v1", named_by="a file").key == ""
    forget("http://127.0.0.1:8000/v1")
    with pytest.raises(Misconfigured):
        admit("http://127.0.0.1:8000/v1", named_by="a file")


def test_a_servers_names_on_this_machine_are_one_assessor() -> None:
    names = ("127.0.0.1", "localhost", "[::1]", "LOCALHOST")
    assert {identity(f"http://{name}:8000/v1") for name in names} == {"http://127.0.0.1:8000/v1"}
    assert identity("http://127.0.0.2:8000/v1") == "http://127.0.0.2:8000/v1"
    assert identity("http://localhost.example/v1") == "http://localhost.example/v1"


def test_declared_assessors_of_one_call_each_get_their_own_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collection = make_collection(Path("coll"), 8, 3)
    human = "".join(f"q{q} 0 d{d} {d}\n" for q in range(8) for d in range(3))
    collection.qrels("human").parent.mkdir(exist_ok=True)
    collection.qrels("human").write_text(human)
    Path("assessors").mkdir()
    monkeypatch.setenv("FIRST_KEY", "sk-first-1")
    monkeypatch.setenv("SECOND_KEY", "sk-second-2")
    with FakeServer(grade_in) as first, FakeServer(grade_in) as second:
        for name, server in (("first", first), ("second", second)):
            variable = f"{name.upper()}_KEY"
            text = f'model = "fake"\nserver = "{server.base_url}"\nkey = "{variable}"\n'
            Path(f"assessors/{name}.toml").write_text(text)
            trust(server.base_url, variable)
        assert execute(["lab", "tune", "coll", "--models", "first,second", "--quiet"]) == 0
        seen = [{c.headers["authorization"] for c in server.calls} for server in (first, second)]
    assert seen == [{"Bearer sk-first-1"}, {"Bearer sk-second-2"}]


def test_the_page_of_variables_lists_the_key_of_each_provider() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "environment.md"
    rows = re.findall(
        r"^\| `([\w.-]+\.\w+)` \| (.*) \|$", page.read_text(encoding="utf-8"), re.MULTILINE
    )
    listed = {host: tuple(re.findall(r"`(\w+)`", names)) for host, names in rows}
    assert listed == {**PROVIDERS, f"NAME{AZURE}": (AZURE_KEY,)}
