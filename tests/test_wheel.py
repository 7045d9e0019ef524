"""The built wheel, alone in a fresh environment."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def labeler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `labeler` command of an environment that holds the wheel and what it needs."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = folder.glob("labeler-*-py3-none-any.whl")
    venv.create(folder / "environment", with_pip=True)
    scripts = folder / "environment" / ("Scripts" if os.name == "nt" else "bin")
    install = [str(scripts / "python"), "-m", "pip", "install", "--quiet", str(wheel)]
    subprocess.run(install, check=True, capture_output=True, cwd=folder)
    return scripts / "labeler"


def call(labeler: Path, folder: Path, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [str(labeler), *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_carries_the_prompts(labeler: Path, tmp_path: Path) -> None:
    assert "umbrela@" in call(labeler, tmp_path, "prompts")
    shown = call(labeler, tmp_path, "prompts", "show", "umbrela")
    assert shown == (ROOT / "prompts" / "umbrela.md").read_text(encoding="utf-8")


def test_the_wheel_evaluates(labeler: Path, tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text("1 0 d1 1\n1 0 d2 0\n")
    (tmp_path / "a.run").write_text("1 Q0 d2 1 2.0 t\n1 Q0 d1 2 1.0 t\n")
    assert "0.5" in call(labeler, tmp_path, "evaluate", "a.qrels", "a.run", "-m", "RR")


def test_the_wheel_carries_the_recipes(labeler: Path, tmp_path: Path, shared: Path) -> None:
    mirror = str(shared / "mirror")
    call(labeler, tmp_path, "fetch", "chorus", "-o", "chorus", LABELER_MIRROR=mirror)
    lines = (tmp_path / "chorus" / "qrels" / "human.qrels").read_text().splitlines()
    assert len(lines) == 3188
