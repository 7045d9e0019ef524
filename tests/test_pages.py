"""The README and the pages: what they show runs, and what they link to, name or say exists."""

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest
from every_row import every_row

from labeler.cli import COMMANDS
from labeler.cli.options import parser_of
from labeler.cli.table import GROUPS, Command, named_by
from labeler.prompt import read_prompt

ROOT = Path(__file__).parent.parent
DOCS = sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "site")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
SHOWS_A_SESSION = [page for page in PAGES if "\n>>> " in TEXTS[page]]
RUNS = [page for page in (PAGES[0], *DOCS) if CONSOLE.search(TEXTS[page])]
OWN = {*DOCS} - {ROOT / "docs" / "methods" / name for name in ("architecture.md", "promises.md")}
LONGEST_SENTENCE = 25


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


MARKS = {"docs/how-to/servers.md": (), "README.md": pytest.mark.sweep}
"""Where the commands of pages run: one page's by default; those of all others take minutes more."""


@pytest.mark.parametrize("page", SHOWS_A_SESSION, ids=name_of)
def test_what_a_page_shows_from_python_answers_as_shown(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    if page.name == "CONTRIBUTING.md":  # what it registers would stay in this process
        command = [sys.executable, "-m", "doctest", str(page)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return
    results = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert results.attempted
    assert not results.failed


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=MARKS.get(name_of(page), pytest.mark.slow)) for page in RUNS],
    ids=name_of,
)
def test_every_command_of_a_page_runs_and_prints_what_is_shown(page: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "pages.py"), "--check", str(page)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr


def lines_of(page: Path) -> list[str]:
    """The command lines of a page's console blocks."""
    return [
        re.split(r"\s{3,}", line.removeprefix("$ "))[0]
        for block in CONSOLE.findall(TEXTS[page])
        for line in block.replace("\\\n", " ").split("\n")
        if line.removeprefix("$ ").startswith(("labeler ", "scripts/"))
    ]


LINES = sorted(
    {line for page in PAGES for line in lines_of(page)}
    | {command.example for command in COMMANDS.values()}
)


@cache
def options_of(command: Command) -> set[str]:
    """All spellings of a command's options."""
    options = parser_of(command).params
    return {"--help", *(each for o in options for each in (*o.opts, *o.secondary_opts))}


@every_row("line", LINES)
def test_every_command_line_shown_exists_with_its_options(line: str) -> None:
    words = shlex.split(re.split(r" [|>] ", line)[0], comments=True)
    if words[0].startswith("scripts/"):
        assert (ROOT / words[0]).is_file()
        return
    assert words[0] == "labeler"
    if words[1].startswith("-"):
        assert words[1] in {"--version", "--help", "--install-completion"}
        return
    command = named_by(words[1:])
    assert command
    if command.name == "trec-eval":
        return  # its arguments are trec_eval's, and have tests of their own
    for option in (word for word in words[2:] if re.match(r"--?[a-z]", word)):
        assert option.split("=")[0] in options_of(command), option


NAMED = re.compile(r"`labeler ([a-z-]+)((?: [^`]*)?)`")


@every_row("page", PAGES)
def test_every_command_named_in_a_sentence_exists(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", TEXTS[page], flags=re.S | re.M)
    for first, rest in NAMED.findall(text):
        words = [first, *rest.split()]
        is_group = first in GROUPS and len(words) == 1
        assert named_by(words) or is_group or first.startswith("-"), words


def anchors_of(text: str) -> set[str]:
    """The anchors of a page's headings, as forges and the site make them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title in headings}


@every_row("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\((?!https?://|mailto:)([^)\s]+)\)", TEXTS[page]):
        target, _, anchor = unquote(link).partition("#")
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), link
        if anchor:
            assert anchor in anchors_of(path.read_text(encoding="utf-8")), link


@every_row("page", PAGES)
def test_every_file_of_the_project_that_a_page_names_exists(page: Path) -> None:
    for named in re.findall(r"`((?:labeler|tests|scripts|prompts)/[\w/.]+)`", TEXTS[page]):
        assert "NOUN" in named or "VERB" in named or (ROOT / named).exists(), named


def test_every_page_can_be_reached_from_the_first() -> None:
    seen: set[Path] = set()
    ahead = [ROOT / "docs" / "index.md"]
    while ahead:
        page = ahead.pop()
        if page not in seen and page in TEXTS:
            seen.add(page)
            links = re.findall(r"\]\((?!https?://)([^)#\s]+)", TEXTS[page])
            ahead += [(page.parent / link).resolve() for link in links]
    assert {*DOCS} <= seen


@pytest.mark.sweep
def test_the_pages_build_as_a_site(tmp_path: Path) -> None:
    build = [sys.executable, "-W", "ignore", "-m", "properdocs", "build", "--strict", "--quiet"]
    where = ["-f", str(ROOT / "docs" / "site" / "mkdocs.yml"), "-d", str(tmp_path / "site")]
    done = subprocess.run([*build, *where], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "tutorial" / "index.html").is_file()


def sentences_of(text: str) -> list[str]:
    """The sentences of a page's prose, without code, tables, headings and what links lead to."""
    prose = re.sub(r"^```.*?^```$|<!--.*?-->", "", text, flags=re.S | re.M)
    prose = re.sub(r"^(\||#|!\[|\*(?:TREC|Eleven)).*$", "", prose, flags=re.M)
    prose = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", prose)
    prose = re.sub(r"`[^`]*`", "code", prose)
    paragraphs = re.split(r"\n\s*\n|\n(?=(?:[-*]|\d+\.) )", prose)
    return [s for p in paragraphs for s in re.split(r"(?<=[.!?:;])[*\")]*\s+", p.strip())]


@every_row("page", sorted({*OWN, PAGES[0]}))
def test_no_sentence_of_a_page_is_long(page: Path) -> None:
    long = [s for s in sentences_of(TEXTS[page]) if len(s.split()) > LONGEST_SENTENCE]
    assert not long, "\n\n".join(long)


def source() -> str:
    """The package's code with the parts of texts that run over several lines joined."""
    files = sorted((ROOT / "labeler").rglob("*.py"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return re.sub(r"[\"']\s*\n\s*f?[\"']", "", text)


def test_every_message_of_the_page_of_troubles_is_one_of_ours() -> None:
    page = TEXTS[ROOT / "docs" / "troubleshooting.md"]
    code = source()
    messages = re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)
    assert len(messages) > 10
    for message in messages:
        words = [w for w in re.split(r"\b[NM]\b|\d+|…|[\s(),;:]+", message) if w]
        assert re.search(".{0,60}?".join(map(re.escape, words)), code, re.DOTALL), message


def test_every_variable_of_the_environment_has_its_line() -> None:
    page = TEXTS[ROOT / "docs" / "reference" / "environment.md"]
    named = set(re.findall(r"[\"'](LABELER_[A-Z_]+|OPENAI_(?:API_KEY|BASE_URL))[\"']", source()))
    assert {name for name in named if f"`{name}`" not in page} == set()


def test_every_exit_code_has_its_line() -> None:
    page = TEXTS[ROOT / "docs" / "reference" / "exit-codes.md"]
    codes = {int(code) for code in re.findall(r"exit_code = (\d+)", source())}
    assert {code for code in codes if f"\n| {code} |" not in page} == set()


def test_the_prompt_shown_to_contributors_is_one(tmp_path: Path) -> None:
    (shown,) = re.findall(
        r"^```text\n(\+\+\+.*?)^```", TEXTS[ROOT / "CONTRIBUTING.md"], re.DOTALL | re.MULTILINE
    )
    path = tmp_path / "strict.md"
    path.write_text(shown, encoding="utf-8")
    assert read_prompt(path).grades == (0, 1)


def test_every_module_named_in_the_architecture_exists() -> None:
    rooms = {path.name for path in (ROOT / "labeler").iterdir() if path.is_dir()}
    text = TEXTS[ROOT / "docs" / "methods" / "architecture.md"]
    for named in re.findall(r"`([a-z_]+/[\w/]+\.py)`", text):
        if named.split("/")[0] in rooms:
            assert (ROOT / "labeler" / named).exists(), named


def test_the_notebook_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = json.loads(
        (ROOT / "docs" / "reference" / "notebook.ipynb").read_text(encoding="utf-8")
    )
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        exec(compile(cell, f"cell {number}", "exec"), names)
    assert all(cell["outputs"] == [] for cell in notebook["cells"] if cell["cell_type"] == "code")
