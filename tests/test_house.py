"""The floors of the house: imports point down only."""

import ast
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from inspect import getdoc
from pathlib import Path

import pytest
from every_row import every_row

from labeler.cli import COMMANDS
from labeler.messages import DISTRIBUTION

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "labeler"

FLOORS = (
    ("data", "errors", "messages", "arrays"),
    ("entry_points", "options"),
    ("model",),
    ("files",),
    ("wire",),
    ("report",),
    ("text",),
    ("trec",),
    ("metrics",),
    ("stats",),
    ("exchange",),
    ("store",),
    ("models",),
    ("prompt",),
    ("collection",),
    ("corpus", "queries", "runs", "qrels", "judging", "people", "evaluation"),
    ("pools", "agreement", "catalog"),
    ("pipeline",),
    ("testing",),
    ("lab", "scale"),
    ("collection_report",),
    ("annotate", "monitoring"),
    ("cli",),
)
"""The rooms from the ground up. Imports go to an earlier line; rooms on one line do not know each
other.
"""

FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
MOST_FLAT_MODULES = 9

ONLY_IN = {
    "openai": {"models", "wire"},
    "aiohttp": {"wire"},
    "httpx2": set(),
    "ray": {"scale"},
    "sqlite3": {"store"},
    "typer": {"cli"},
    "rich": {"cli"},
    "starlette": {"annotate"},
}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


@dataclass(frozen=True)
class Written:
    """What a module imports, the classes at its top, its texts, what it names, and its nodes."""

    imports: set[str]
    classes: list[str]
    texts: list[str]
    names: set[str]
    nodes: int


@cache
def written(path: Path) -> Written:
    whole = ast.parse(path.read_text(encoding="utf-8"))
    imported, texts, names = set[str](), list[str](), set[str]()
    nodes = 0
    for node in ast.walk(whole):
        nodes += 1
        match node:
            case ast.Name(ctx=ast.Store()):
                names.add(node.id)
            case ast.arg():
                names.add(node.arg)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                names.add(node.name)
            case ast.Import():
                imported |= {name.name for name in node.names}
            case ast.ImportFrom():
                assert node.level == 0, f"{path}: relative import"
                assert node.module is not None
                imported |= {_imported(node.module, name.name) for name in node.names}
            case ast.Constant(value=str()):
                texts.append(node.value)
    classes = [node.name for node in whole.body if isinstance(node, ast.ClassDef)]
    return Written(imported, classes, texts, names, nodes)


def imports(path: Path) -> set[str]:
    return written(path).imports


def _imported(module: str, name: str) -> str:
    """What `from module import name` reads: the submodule of that name, if there is one."""
    inside = ROOT.joinpath(*module.split("."), name)
    is_module = inside.is_dir() or inside.with_suffix(".py").is_file()
    return f"{module}.{name}" if is_module else module


def modules() -> dict[str, Path]:
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(PACKAGE.rglob("*.py"))
    }


INSIDE = [(m, p) for m, p in modules().items() if room(m) not in {"", "__main__"}]


def test_every_room_has_a_floor() -> None:
    assert {room(module) for module, _ in INSIDE} <= set(FLOOR_OF)


def test_the_page_of_the_house_lists_every_room_from_the_ground_up() -> None:
    page = (ROOT / "docs" / "methods" / "architecture.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| ((?:`\w+` ?)+)\|", page, re.MULTILINE)
    rooms = [name for line in lines for name in re.findall(r"\w+", line)]
    assert rooms == [name for floor in FLOORS for name in floor if name in present_rooms()]
    for path in re.findall(r"`((?:\w+/)+)`", page):
        assert (PACKAGE / path).is_dir() or (ROOT / path).is_dir(), path


def present_rooms() -> set[str]:
    return {room(module) for module, _ in INSIDE}


def test_imports_go_to_an_earlier_floor() -> None:
    upward = [
        f"{module} imports {imported}"
        for module, path in INSIDE
        for imported in imports(path)
        if imported.startswith("labeler.") and room(imported) not in {room(module), "__version__"}
        if FLOOR_OF[room(imported)] >= FLOOR_OF[room(module)]
    ]
    assert upward == []


@every_row("name", COMMANDS)
def test_each_command_has_one_sentence_and_is_in_the_file_of_its_name(name: str) -> None:
    command = COMMANDS[name]
    doc = getdoc(command.load())
    assert doc
    assert doc.split("\n")[0] == command.summary


def test_pip_is_told_the_name_of_this_distribution_and_extras_that_it_has() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert project["name"] == DISTRIBUTION
    # Ray is for clusters, and larger than all the others together
    assert extras["all"] == [f"{DISTRIBUTION}[{','.join(sorted(set(extras) - {'all', 'ray'}))}]"]
    folders = ("labeler", "docs", "scripts", "tests", "prompts", "datasets")
    inside = (path for folder in folders for path in (ROOT / folder).rglob("*"))
    texts = [*ROOT.glob("*.md"), *(path for path in inside if path.suffix in {".md", ".py"})]
    for path in [*texts, ROOT / "scripts" / "demo", ROOT / "scripts" / "test"]:
        text = path.read_text(encoding="utf-8")
        for installed in re.findall(r"pip install\s+'?([\w-]*labeler)\b", text):
            assert installed == DISTRIBUTION, path
        for name, extra in re.findall(r"([\w-]*labeler)\[(\w+)\]", text):
            assert (name, extra in extras) == (DISTRIBUTION, True), path
        for extra in re.findall(r"missing_extra\(\"(\w+)\"", text):
            assert extra in extras, path


def test_the_page_about_installing_lists_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    table = page.partition("## Extras")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(project["optional-dependencies"])


def test_few_modules_lie_flat_in_the_package() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= MOST_FLAT_MODULES


def test_a_library_appears_in_its_rooms_alone() -> None:
    elsewhere = [
        f"{module} imports {imported}"
        for module, path in INSIDE
        for imported in imports(path)
        if room(module) not in ONLY_IN.get(imported.split(".")[0], {room(module)})
    ]
    assert elsewhere == []


def test_no_public_class_name_stands_twice() -> None:
    homes: dict[str, list[str]] = {}
    for module, path in modules().items():
        for name in written(path).classes:
            if not name.startswith("_"):
                homes.setdefault(name, []).append(module)
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_no_import_goes_in_circles() -> None:
    eager = modules()
    del eager["labeler"]  # the public face names what it offers, and imports it when it is used
    graph = {m: {i for i in imports(p) if i in eager} - {m} for m, p in eager.items()}
    TopologicalSorter(graph).prepare()


def test_the_top_level_holds_what_it_should_and_nothing_else() -> None:
    wanted = {"pyproject.toml", "README.md", "labeler", "prompts", "datasets", "tests", "scripts"}
    tools = {"LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "docs"}
    ignored = {"build", "dist", "demo"}
    found = {p.name for p in ROOT.iterdir() if not p.name.startswith(".")} - ignored
    assert wanted <= found
    assert found <= wanted | tools


def test_the_wheel_carries_prompts_and_datasets_so_no_module_has_those_names() -> None:
    assert {"prompts", "datasets"}.isdisjoint(p.stem for p in PACKAGE.iterdir())


def test_only_the_command_line_prints_or_exits() -> None:
    speaking = re.compile(r"^\s*(print\(|sys\.exit\()", re.MULTILINE)
    for module, path in INSIDE:
        if room(module) != "cli":
            assert not speaking.search(path.read_text(encoding="utf-8")), module


OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
FLAGS = re.compile(r"(-\w )?--[a-z-]+(/--[a-z-]+)?( -\w)?")
"""The spellings that a record gives an option; they are no message."""
NAMES_OPTIONS = (
    "labeler.cli",
    "labeler.options",
    "labeler.models.local",
    "labeler.evaluation.trec_eval",
)
"""The command line; the arguments of the programs that the library starts; trec_eval's own."""


def test_no_message_of_the_library_names_an_option() -> None:
    naming = {
        module: [t for t in written(path).texts if OPTION.search(t) and not FLAGS.fullmatch(t)]
        for module, path in INSIDE
        if not f"{module}.".startswith(tuple(f"{room}." for room in NAMES_OPTIONS))
    }
    assert {module: texts for module, texts in naming.items() if texts} == {}


def test_python_is_recent_enough_for_this_suite() -> None:
    assert sys.version_info >= (3, 11)


def test_no_two_files_of_tests_have_one_name() -> None:
    names = Counter(path.name for path in (ROOT / "tests").rglob("*.py"))
    assert [name for name, count in names.items() if count > 1 and name != "conftest.py"] == []


NO_NAMES = {"found", "wanted", "known", "chosen", "said", "there", "told", "kept", "place", "one"}
"""They say what was done to a value, or where it is, and not what it is."""


def test_names_say_what_a_value_is() -> None:
    empty = {
        module: {name.strip("_") for name in written(path).names} & NO_NAMES
        for module, path in INSIDE
    }
    assert {module: names for module, names in empty.items() if names} == {}


MOST_LINES = 600


def test_no_module_is_longer_than_what_a_reader_holds_at_once() -> None:
    lines = {m: len(p.read_text(encoding="utf-8").splitlines()) for m, p in modules().items()}
    assert {m: count for m, count in lines.items() if count > MOST_LINES} == {}


def test_no_room_outgrows_its_budget() -> None:
    """Who adds takes away, or raises the room's budget in pyproject.toml in the same commit."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    budget = project["tool"]["labeler"]["budget"]
    nodes, held = Counter[str](), Counter[str]()
    for module, path in modules().items():
        where = room(module) if path.parent != PACKAGE else "labeler"
        nodes[where] += written(path).nodes
        held[where] += 1
    assert nodes.keys() == budget.keys()
    grown = {
        where: (nodes[where], held[where])
        for where, (most_nodes, most_modules) in budget.items()
        if nodes[where] > most_nodes or held[where] > most_modules
    }
    assert grown == {}, "AST nodes and modules of rooms above their budget"


@pytest.mark.parametrize(
    ("command", "most"),
    [
        pytest.param("evaluate", 45, marks=pytest.mark.sweep),
        pytest.param("agree", 50, marks=pytest.mark.sweep),
        ("judge", 65),
    ],
)
def test_a_command_walks_through_few_modules(command: str, most: int) -> None:
    words = [sys.executable, str(Path(__file__).with_name("walked.py")), command, "--names"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    names = [line for line in done.stderr.splitlines() if line.endswith(".py")]
    assert f"cli/{command}.py" in names
    assert len(names) <= most, names


def is_there(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_scripts_import_what_is_there() -> None:
    names = [
        f"{node.module}.{alias.name}"
        for path in sorted((ROOT / "scripts").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("labeler")
        for alias in node.names
    ]
    assert [name for name in names if not is_there(name)] == []
