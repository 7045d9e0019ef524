"""The built wheel, alone in a fresh environment."""

import os
import subprocess
import sys
import venv
import zipfile
from email import message_from_bytes
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent


BUILD = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as it is published."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-c", BUILD, str(folder)]
    subprocess.run(build, check=True, capture_output=True, cwd=ROOT)
    (built,) = folder.glob("ir_labeler-*-py3-none-any.whl")
    return built


@pytest.fixture(scope="module", params=["of links", "by pip"])
def labeler(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The `labeler` command of an environment that holds the wheel and what it needs.

    What it needs is a link each to what is installed here, or what pip gets.
    """
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "environment")
    scripts = folder / "environment" / ("Scripts" if os.name == "nt" else "bin")
    more = []
    if request.param != "by pip":
        link_what_it_needs(wheel, next((folder / "environment").rglob("site-packages")))
        more = ["--no-deps"]
    # By the pip of this environment, and compiling nothing that no test imports: half the work.
    install = ["pip", "--python", str(scripts / "python"), "install", "--quiet", "--no-compile"]
    command = [sys.executable, "-m", *install, *more, str(wheel)]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    return scripts / "labeler"


def link_what_it_needs(wheel: Path, packages: Path) -> None:
    """Put links to the installed packages that a wheel asks for, and to those that they ask for."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        waiting = _needs(message_from_bytes(archive.read(name)).get_all("Requires-Dist"), "")
    linked = set[tuple[str, str]]()
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in linked:
            continue
        linked.add((name, extra))
        found = distribution(name)
        waiting += _needs(found.requires, extra)
        for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            if not (packages / top).is_symlink():
                (packages / top).symlink_to(found.locate_file(top))


def _needs(lines: list[str] | None, extra: str) -> list[tuple[str, str]]:
    """The names of what a package asks for with one of its extras, each with an extra of theirs."""
    needs = [Requirement(line) for line in lines or ()]
    asked = [need for need in needs if not need.marker or need.marker.evaluate({"extra": extra})]
    return [(need.name, each) for need in asked for each in ("", *need.extras)]


def call(labeler: Path, folder: Path, *arguments: str, **environment: str) -> str:
    done = start(labeler, folder, *arguments, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def start(
    labeler: Path, folder: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    others = {n: value for n, value in os.environ.items() if n != "PYTHONPATH"}  # the wheel alone
    return subprocess.run(
        [str(labeler), *arguments],
        cwd=folder,
        env={**others, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_wheel_carries_the_code_and_all_that_is_no_python(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        prompt = archive.read("labeler/prompts/four-grades.md")
    files = [path for path in (ROOT / "labeler").rglob("*.*") if path.suffix != ".pyc"]
    carried = {path.relative_to(ROOT).as_posix() for path in files if path.is_file()}
    for folder in ("prompts", "datasets", "docs"):
        inside = (path for path in (ROOT / folder).rglob("*") if path.is_file())
        carried |= {f"labeler/{path.relative_to(ROOT).as_posix()}" for path in inside}
    assert carried <= names
    assert {path.rpartition(".")[2] for path in carried} >= {"css", "html", "js", "toml", "md"}
    assert prompt == (ROOT / "prompts" / "four-grades.md").read_bytes()


@pytest.mark.sweep
def test_the_wheel_carries_the_prompts(labeler: Path, tmp_path: Path) -> None:
    assert "four-grades@" in call(labeler, tmp_path, "prompts", "show")
    shown = call(labeler, tmp_path, "prompts", "show", "four-grades")
    assert shown == (ROOT / "prompts" / "four-grades.md").read_text(encoding="utf-8")


@pytest.mark.sweep
def test_the_wheel_carries_the_pages_that_help_finds(labeler: Path, tmp_path: Path) -> None:
    shown = call(labeler, tmp_path, "help", "holes")
    assert "a retrieved document without a grade" in shown
    assert str(Path("labeler", "docs", "methods", "scores.md")) in shown


@pytest.mark.sweep
def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    labeler: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and what follows")
    done = start(labeler, tmp_path, "runs", "convert", "a.parquet", "-o", "a.trec")
    assert "pip install 'ir-labeler[parquet]'" in done.stderr
    assert done.returncode == 78


@pytest.mark.sweep
def test_the_wheel_evaluates(labeler: Path, tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text("1 0 d1 1\n1 0 d2 0\n")
    (tmp_path / "a.run").write_text("1 Q0 d2 1 2.0 t\n1 Q0 d1 2 1.0 t\n")
    assert "0.5" in call(labeler, tmp_path, "evaluate", "a.qrels", "a.run", "-m", "RR")


@pytest.mark.sweep
def test_the_wheel_carries_the_recipes(labeler: Path, tmp_path: Path, shared: Path) -> None:
    mirror = str(shared / "mirror")
    call(labeler, tmp_path, "fetch", "chorus", "-o", "chorus", LABELER_MIRROR=mirror)
    lines = (tmp_path / "chorus" / "qrels" / "human.qrels").read_text().splitlines()
    assert len(lines) == 3188
