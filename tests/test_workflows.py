"""The workflows and jobs that pages show: they parse, ask for few rights, and their steps run."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from examples import tiers

from labeler.cli import execute
from labeler.errors import BadInput, BudgetReached, Misconfigured, Misuse
from labeler.testing import FakeServer
from tests.made import make_collection, pair_calls

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "how-to" / "decide.md").read_text(encoding="utf-8")
BLOCK = re.compile(
    r"^<!-- file: \.github/workflows/([\w-]+)\.yml -->\n```yaml\n(.*?)^```$", re.M | re.S
)
FILES: dict[str, dict[Any, Any]] = {n: yaml.safe_load(text) for n, text in BLOCK.findall(PAGE)}
ON = True  # how YAML 1.1 reads the key `on`


def steps(name: str) -> list[dict[str, Any]]:
    (job,) = FILES[name]["jobs"].values()
    return list(job["steps"])


def run_of(name: str, step: str) -> str:
    (text,) = [s["run"] for s in steps(name) if s.get("name") == step]
    return str(text)


def test_code_of_a_pull_request_runs_with_rights_to_read_alone() -> None:
    measuring = FILES["search"]
    assert measuring[ON] == "pull_request"
    assert measuring["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in str(FILES)
    (checkout,) = [s for s in steps("search") if s.get("uses", "").startswith("actions/checkout")]
    assert checkout["with"] == {"persist-credentials": False}


def test_what_may_comment_runs_nothing_of_the_pull_request() -> None:
    commenting = FILES["search-comment"]
    assert commenting[ON]["workflow_run"]["workflows"] == [FILES["search"]["name"]]
    assert commenting["permissions"] == {}
    rights = commenting["jobs"]["comment"]["permissions"]
    assert rights == {"actions": "read", "pull-requests": "write"}
    assert [s for s in steps("search-comment") if "uses" in s] == []


def test_no_text_of_a_stranger_reaches_a_shell_and_actions_are_pinned() -> None:
    for name, workflow in FILES.items():
        for step in steps(name):
            assert "${{" not in step.get("run", "")
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "a/b@v1"))
        named = set(re.findall(r"\$\{\{ (.*?) \}\}", str(workflow)))
        assert not [text for text in named if re.search(r"head_?ref|head_branch|title|body", text)]


@pytest.fixture
def tools(tmp_path: Path) -> dict[str, str]:
    """A folder with a collection, and stand-ins for the programs of a runner."""
    collection = make_collection(tmp_path / "coll", queries=12)
    (collection.folder / "qrels").mkdir()
    (collection.folder / "runs").mkdir()
    pairs = [(f"q{q}", f"d{d}") for q in range(12) for d in range(5)]
    qrels = "".join(f"{q} 0 {d} {3 if d == 'd0' else 0}\n" for q, d in pairs)
    (collection.folder / "qrels" / "human.qrels").write_text(qrels, encoding="utf-8")
    (collection.folder / "runs" / "production.trec").write_text(ranking(best=0), encoding="utf-8")
    scripts = {
        "search/run.sh": 'cat "$RANKING"',
        "bin/labeler": f'exec {shlex.quote(sys.executable)} -m labeler "$@"',
        "bin/gh": 'printf "%s\\n" "$*" >> gh.log\n'
        'case "$*" in *pulls*) echo 7;; *issues/7/comments?*) cat comment.id;; esac',
    }
    for name, body in scripts.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "step.md"),
        "RANKING": str(tmp_path / "ranking.trec"),
    }


def ranking(best: int) -> str:
    """A run that puts the document of that number first in each query."""
    order = [best, *(d for d in range(5) if d != best)]
    return "".join(
        f"q{q} Q0 d{d} {rank} {9 - rank} run\n"
        for q in range(12)
        for rank, d in enumerate(order, start=1)
    )


def bash(text: str, tools: dict[str, str], **more: str) -> int:
    """The exit code of a step as a runner starts it."""
    folder = Path(tools["RANKING"]).parent
    command = ["bash", "-e", "-c", text]
    return subprocess.run(command, cwd=folder, env={**tools, **more}, check=False).returncode


def test_a_gate_that_fails_still_leaves_its_report(tools: dict[str, str], tmp_path: Path) -> None:
    Path(tools["RANKING"]).write_text(ranking(best=4), encoding="utf-8")
    assert bash(run_of("search", "search"), tools) == 0
    assert bash(run_of("search", "gate"), tools) == 5
    assert bash(run_of("search", "report"), tools, GATE="failure") == 0
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert report.startswith("The gate of nDCG@10: **failure**.\n\n# ")
    assert "candidate" in report
    assert (tmp_path / "step.md").read_text(encoding="utf-8") == report
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_system_that_is_as_good_passes_the_gate(tools: dict[str, str]) -> None:
    Path(tools["RANKING"]).write_text(ranking(best=0), encoding="utf-8")
    assert bash(run_of("search", "search"), tools) == 0
    assert bash(run_of("search", "gate"), tools) == 0


@pytest.mark.parametrize(("existing", "method"), [("", "POST"), ("42", "PATCH")])
def test_there_is_one_comment_however_many_pushes(
    existing: str, method: str, tools: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "comment.id").write_text(existing, encoding="utf-8")
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "report.md").write_text("ü" * 40_000, encoding="utf-8")
    (job,) = FILES["search-comment"]["jobs"].values()
    env = {**job["env"], "GH_REPO": "o/r", "COMMIT": "c0ffee", "RUN": "1"}
    assert bash(run_of("search-comment", "comment"), tools, **env) == 0
    calls = (tmp_path / "gh.log").read_text(encoding="utf-8").splitlines()
    target = "issues/comments/42" if existing else "issues/7/comments"
    assert calls[-1] == f"api --method {method} repos/o/r/{target} -F body=@body.md --silent"
    body = (tmp_path / "body.md").read_text(encoding="utf-8")
    assert body.startswith(f"{env['MARK']}\nüü")
    assert len(body) < 65_536


LONG_RUNS = (ROOT / "docs" / "how-to" / "long-runs.md").read_text(encoding="utf-8")
JOBS = dict(
    re.findall(r"^<!-- file: ([\w.]+) -->\n```(?:bash|yaml)\n(.*?)^```$", LONG_RUNS, re.M | re.S)
)


def command_of(job: str) -> str:
    """The script that a worker of a job runs."""
    if job.endswith(".sbatch"):
        return JOBS[job]
    worker = yaml.safe_load(JOBS[job])["spec"]["template"]["spec"]["containers"][0]
    names = [f"export {each['name']}={each['value']}" for each in worker["env"]]
    return "\n".join([*names, shlex.join(worker["command"])])


@pytest.mark.parametrize("job", tiers(["judge.sbatch", "judge.yaml"], "judge.yaml"))
def test_two_workers_of_a_job_judge_all_parts_and_ask_nothing_twice(
    job: str, tools: dict[str, str], tmp_path: Path
) -> None:
    parts = tmp_path / "parts"
    with FakeServer() as server:
        asked = ["--model", "fake", "--base-url", server.base_url, "--as", "first", "--rows", "5"]
        assert execute(["parts", "make", str(tmp_path / "coll"), str(parts), *asked]) == 0
        script = command_of(job).replace("/shared/parts", str(parts))
        script = script.replace("http://llm:8000/v1", server.base_url)
        script = script.replace("model.rpm=60", "model.rpm=60000")
        workers = [
            subprocess.Popen(["bash", "-c", script], env=tools, stdout=subprocess.DEVNULL)
            for _ in range(2)
        ]
        assert [worker.wait(120) for worker in workers] == [0, 0]
        assert len(pair_calls(server)) == len(set(pair_calls(server))) == 60
    assert execute(["parts", "collect", str(tmp_path / "coll"), str(parts)]) == 0


def test_a_job_of_kubernetes_does_not_start_again_what_would_end_the_same_way() -> None:
    spec = yaml.safe_load(JOBS["judge.yaml"])["spec"]
    assert "completions" not in spec
    (_, rule) = spec["podFailurePolicy"]["rules"]
    container = spec["template"]["spec"]["containers"][0]
    assert rule["onExitCodes"]["containerName"] == container["name"]
    kinds = Misuse, BudgetReached, BadInput, Misconfigured
    assert rule["onExitCodes"]["values"] == [kind.exit_code for kind in kinds]
    assert spec["template"]["spec"]["restartPolicy"] == "Never"  # a failure policy takes no other


def test_a_script_of_slurm_hands_its_signal_to_the_worker() -> None:
    lines = JOBS["judge.sbatch"].splitlines()
    options = [line.split()[1] for line in lines if line.startswith("#SBATCH")]
    assert all(option.startswith("--") for option in options)
    assert "--signal=B:TERM@120" in options
    assert lines[-1].startswith("exec labeler ")
