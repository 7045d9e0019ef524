"""`import labeler`: one function for each daily act, imported when it is first used."""

import ast
import asyncio
import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from every_row import every_row

import labeler
from labeler.judging.job import JudgeResult
from labeler.models.session import OnJudged, Underway
from labeler.testing import fake_model, small_collection

FACE = Path(labeler.__file__)
NAMES = [name for name in labeler.__all__ if name != "__version__"]
HEAVY = ("numpy", "pandas", "openai", "pydantic", "rich", "typer", "sqlite3")


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, labeler; print(sorted(set({HEAVY}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@every_row("name", NAMES)
def test_each_public_name_is_what_its_own_module_calls_so(name: str) -> None:
    value = getattr(labeler, name)
    assert value.__name__ == name
    assert name in dir(labeler)


def test_type_checkers_see_the_same_names_from_the_same_modules() -> None:
    imported = {
        alias.asname: f"{node.module}:{alias.name}".removeprefix("labeler.")
        for node in ast.walk(ast.parse(FACE.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("labeler.")
        for alias in node.names
    }
    assert imported == labeler._PUBLIC


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'jugde'"):
        labeler.jugde  # noqa: B018  looking it up is what is tested


FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(labeler, name))]
ASYNCHRONOUS = {name for name in FUNCTIONS if inspect.iscoroutinefunction(getattr(labeler, name))}
SYNCHRONOUS = [name for name in FUNCTIONS if name not in ASYNCHRONOUS]


@every_row("name", SYNCHRONOUS)
def test_the_example_of_each_function_runs(name: str) -> None:
    function = getattr(labeler, name)
    module = sys.modules[function.__module__]
    (example,) = doctest.DocTestFinder(recurse=False).find(
        function, name, module=module, globs=dict(vars(module))
    )
    assert example.examples, f"{name} shows no example"
    results = doctest.DocTestRunner().run(example)
    assert results.attempted
    assert not results.failed


def test_the_example_of_the_package_runs() -> None:
    assert doctest.testmod(labeler) == (0, 3)


@pytest.mark.sweep
def test_the_examples_of_all_modules_run() -> None:
    names = (info.name for info in pkgutil.walk_packages(labeler.__path__, "labeler."))
    optional = {"labeler.__main__"}
    modules = [importlib.import_module(name) for name in names if name not in optional]
    flags = doctest.ELLIPSIS
    failed = {m.__name__: doctest.testmod(m, optionflags=flags).failed for m in modules}
    assert {name for name, number in failed.items() if number} == set()


def test_each_asynchronous_function_stands_beside_the_one_for_people() -> None:
    assert {name.removeprefix("a") for name in ASYNCHRONOUS} <= set(SYNCHRONOUS)


def test_judging_works_where_a_loop_is_running_as_in_a_notebook() -> None:
    async def cell() -> JudgeResult:
        return labeler.judge(small_collection(), model=fake_model('{"grade": 1}'), name="a")

    assert asyncio.run(cell()).judged == 4


def test_a_caller_can_watch_the_judging() -> None:
    notes, statuses = list[str](), list[str]()

    @contextmanager
    def judging(run: Underway) -> Iterator[OnJudged]:
        notes.append(f"{run.total} pairs")
        yield lambda judged: statuses.append(type(judged.outcome).__name__)

    control = labeler.Control(note=notes.append, judging=judging)
    llm = fake_model('{"grade": 1}', "watched")
    labeler.judge(small_collection(), model=llm, name="a", control=control)
    assert notes == ["model: watched (given)", "4 pairs"]
    assert statuses == ["Judgement"] * 4


def test_a_program_awaits_the_same_with_the_same_settings() -> None:
    options = labeler.JudgeOptions(model=fake_model("no idea"), name="a")
    result = asyncio.run(labeler.ajudge(small_collection(), options))
    assert result.as_json()["failures"] == {"unparsable": 4}
    assert repr(result) == "JudgeResult('a', judged=0 of 4, unparsable=4)"
    assert "<td>unparsable</td>" in result._repr_html_().replace(' style="text-align: left"', "")
    assert list(result.frame()["status"]) == ["unparsable"] * 4
    assert result.frame()["grade"].isna().all()
