"""`labeler.toml`: options beat the environment, that beats the file; no key goes astray."""

from pathlib import Path

import pytest
from made import grade_in, make_collection

from labeler.cli import execute
from labeler.cli.settings import SECTIONS, checked_sections, settings_in, template
from labeler.testing import FakeServer


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, and an environment in which nothing is set."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "LABELER_MODEL", "LABELER_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    return tmp_path


def written(text: str) -> None:
    Path("labeler.toml").write_text(text, encoding="utf-8")


def test_init_writes_a_file_whose_settings_are_all_explained_and_none_of_them_set(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert execute(["init"]) == 0
    assert not any(checked_sections(Path("labeler.toml")).values())
    every = "".join(
        f"{line.removeprefix('# ')}\n"
        for line in template().splitlines()
        if " = " in line or line.startswith(("[", "# [assessor"))
    )
    written(every)
    said = checked_sections(Path("labeler.toml"))
    assert {name: set(values) for name, values in said.items()} == {
        name: set(settings_in(name)) for name in SECTIONS
    }
    assert execute(["init"]) == 2
    assert "--force" in capsys.readouterr().err
    assert Path("labeler.toml").read_text(encoding="utf-8") == every


def test_a_command_takes_its_settings_from_the_file_and_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(folder / "coll")
    with FakeServer(grade_in) as server:
        written(f'[model]\nmodel = "fake"\nserver = "{server.base_url}"\n[generate]\nqueries = 7\n')
        assert execute(["trust", server.base_url]) == 0
        assert execute(["judge", "coll"]) == 0
        assert server.calls
    said = capsys.readouterr().err
    assert f"labeler.toml sets model.model = 'fake', model.server = '{server.base_url}'\n" in said
    assert "queries" not in said


def test_an_option_beats_the_environment_and_that_the_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written('[model]\nmodel = "from-the-file"\nserver = "http://127.0.0.1:9/v1"\n')
    execute(["trust", "http://localhost:9"])
    execute(["doctor"])
    assert "model            from-the-file at http://127.0.0.1:9" in capsys.readouterr().out
    monkeypatch.setenv("LABELER_MODEL", "from-the-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8/v1")
    execute(["doctor"])
    assert "from-the-environment at http://127.0.0.1:8" in capsys.readouterr().out
    execute(["doctor", "--model", "from-the-option", "--base-url", "http://127.0.0.1:7/v1"])
    assert "from-the-option at http://127.0.0.1:7" in capsys.readouterr().out
    execute(["doctor", "--model=similarity"])
    assert "similarity (model given)" in capsys.readouterr().out


def test_neither_key_nor_text_goes_to_a_server_that_a_file_alone_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(folder / "coll")
    for key in ("sk-secret", ""):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with FakeServer(grade_in) as server:
            written(f'[model]\nmodel = "fake"\nserver = "{server.base_url}"\n')
            for command in (["judge", "coll"], ["doctor"], ["generate", "coll"]):
                assert execute(command) == 78
                assert f"labeler trust {server.base_url}\n" in capsys.readouterr().err
            assert not server.calls
    with FakeServer(grade_in) as server:
        written(f'[model]\nmodel = "fake"\nserver = "{server.base_url}"\n')
        assert execute(["judge", "coll", "--base-url", server.base_url]) == 0
        assert server.calls


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('api_key = "sk-1"', "a key does not belong in a file; set OPENAI_API_KEY instead"),
        ("modle = {}", "no section [modle]; did you mean 'model'? known: model, budget"),
        ('model = "x"', "no section [model] of settings, found 'x'"),
        ('model.modle = "x"', "no setting 'modle'; did you mean 'model'? known: model, server"),
        ("pool.depth = '10'", "pool.depth: expected a whole number, found '10'"),
        ("pool.depth = true", "pool.depth: expected a whole number, found True"),
        ("model.model = 1", "model.model: expected a text in quotation marks, found 1"),
        ('model.key = "sk-1"', "expected the name of the environment variable"),
        ("depth = ", "not TOML: Invalid value (at "),
        ("a = " + "[" * 5000, "not TOML"),
        ('model.model = "gguf:evil.gguf"', "not by a file"),
        ("#" * 70_000, "larger than settings are"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused_in_one_line(
    text: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    written(text)
    assert execute(["doctor"]) == 78
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("labeler: labeler.toml: ")
    assert problem in said
    assert "sk-1" not in said


def test_a_value_out_of_bounds_is_refused_as_that_of_the_option(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(folder / "coll")
    written("[pool]\ndepth = 0\n")
    assert execute(["pool", "coll"]) == 2
    assert "--depth" in capsys.readouterr().err


def test_a_password_in_an_address_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    written('[model]\nmodel = "m"\nserver = "http://user:secret@127.0.0.1:9/v1"\n')
    assert execute(["doctor"]) == 78
    shown = capsys.readouterr()
    assert "secret" not in shown.out + shown.err


def test_the_file_may_lie_elsewhere_or_not_be_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written("nonsense = 1\n")
    monkeypatch.setenv("LABELER_CONFIG", "")
    execute(["doctor", "--model", "similarity"])
    assert "no labeler.toml here" in capsys.readouterr().out
    monkeypatch.setenv("LABELER_CONFIG", str(folder / "missing.toml"))
    assert execute(["doctor", "--model", "similarity"]) == 78
    assert "missing.toml: no such file of settings" in capsys.readouterr().err
