"""What `scripts/test` and `scripts/demo` install: each version fixed, each file by its hash."""

import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
LOCKS = ROOT / "scripts" / "locks"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = (
    ("linux", "x86_64", "posix"),
    ("linux", "aarch64", "posix"),
    ("darwin", "arm64", "posix"),
    ("win32", "AMD64", "nt"),
)
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]


def needs(*, tests: bool) -> list[Requirement]:
    groups = [needs for extra, needs in EXTRAS.items() if extra not in {"all", "ray"}]
    groups += [PROJECT["project"]["dependencies"], PROJECT["build-system"]["requires"]]
    groups += [PROJECT["dependency-groups"]["test"]] if tests else []
    return [Requirement(need) for group in groups for need in group]


@cache
def packages(lock: str) -> list[tuple[Requirement, list[str]]]:
    """What a lock names, each with its hashes."""
    text = (LOCKS / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    split = [re.split(r"\s+--hash=sha256:", line.strip()) for line in lines]
    return [(Requirement(need), hashes) for need, *hashes in split]


def holds(marker: Marker | None, python: str, machine: tuple[str, str, str]) -> bool:
    system, platform_machine, os_name = machine
    here = {
        "python_version": python,
        "python_full_version": f"{python}.1",
        "sys_platform": system,
        "platform_machine": platform_machine,
        "os_name": os_name,
    }
    return marker is None or marker.evaluate(here)


@pytest.mark.parametrize("lock", ["all.txt", "test.txt"])
def test_each_version_is_fixed_and_each_file_has_its_hash(lock: str) -> None:
    text = (LOCKS / lock).read_text(encoding="utf-8")
    assert "://" not in text
    assert "--index" not in text
    for need, hashes in packages(lock):
        assert re.fullmatch(r"==[^*,=]+", str(need.specifier)), need
        assert hashes, need
        assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in hashes), need


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: "-".join(machine[:2]))
@pytest.mark.parametrize(
    ("locks", "tests"), [(["all.txt"], False), (["all.txt", "test.txt"], True)]
)
def test_all_that_is_needed_is_locked_within_its_bounds(
    locks: list[str], tests: bool, python: str, machine: tuple[str, str, str]
) -> None:
    locked: dict[str, set[str]] = {}
    for need, _ in (package for lock in locks for package in packages(lock)):
        if holds(need.marker, python, machine):
            (version,) = need.specifier
            locked.setdefault(canonicalize_name(need.name), set()).add(version.version)
    assert [name for name, versions in locked.items() if len(versions) > 1] == []
    for need in needs(tests=tests):
        if holds(need.marker, python, machine):
            (version,) = locked.get(canonicalize_name(need.name), {"0"})
            assert need.specifier.contains(version, prereleases=True), need


@pytest.mark.parametrize(
    ("version", "system", "machine", "is_locked"),
    [
        ((3, 11), "linux", "x86_64", True),
        ((3, 14), "darwin", "arm64", True),
        ((3, 13), "win32", "AMD64", True),
        ((3, 15), "linux", "x86_64", False),
        ((3, 13), "darwin", "x86_64", False),
    ],
)
def test_the_locks_are_for_these_pythons_and_machines(
    version: tuple[int, int], system: str, machine: str, is_locked: bool
) -> None:
    here = f"{version!r}, {system!r}, {machine!r}, {{}}"
    code = f"import environment; print(environment.why_unlocked({here}))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT / "scripts", capture_output=True, text=True, check=True)
    assert (done.stdout.strip() == "") == is_locked
    if not is_locked:
        assert f"Python {version[0]}.{version[1]} on {system} ({machine})" in done.stdout
