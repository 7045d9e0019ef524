"""The whole path through `import labeler`, where neither the command line nor typer is there."""

import subprocess
import sys
from pathlib import Path

from running import environment

SCRIPT = '''
import re, sys
from pathlib import Path

sys.modules["labeler.cli"] = sys.modules["typer"] = None

import labeler
from labeler.testing import FakeServer

documents, out = map(Path, sys.argv[1:])


def answer(call):
    """A grade, or a query about the topic that the passage names."""
    said = call.body["messages"][-1]["content"]
    if "response_format" in call.body:
        return '{"reason": "so", "grade": %d}' % (len(said) % 4)
    return f"where is item {re.search('topic([0-9]+)', said)[1]} explained"


with FakeServer(answer) as server:
    asked = {"model": "fake", "base_url": server.base_url}
    built = labeler.build(documents, out, queries=3, depth=4, name="first", **asked)
    is_judged = built.pooled.pairs == built.judging.judged
    print("built", built.documents, built.generated.written, is_judged)
    calls = len(server.calls)
    judged = labeler.judge(out, name="first", **asked)
    print("judged again", judged.failed, judged.spent.calls, len(server.calls) == calls)
    second = labeler.relabel(out, "first", prompt="basic", name="second", **asked)
    print("relabelled", second.judging.judged == judged.judged)

changes = labeler.diff(out, "first", "second")
print("compared", changes.pairs == judged.judged, len(changes.moved) == len(second.changes.moved))
collection = labeler.open_collection(out)
runs = {name: collection.run(name) for name in collection.run_files()}
scores = labeler.evaluate(collection.qrels("first"), runs, "nDCG@3")
print("evaluated", sorted(set(scores.frame()["run"])))

agreed = labeler.agree(out, "first", "second")
print("agreed", len(agreed.assessors), agreed.assessors[0].agreement.pairs == judged.judged)
try:
    labeler.judge(out, prompt="basic", name="first", **asked)
except labeler.LabelerError as error:
    print("refused", error.parameter, "--" in str(error))
'''


def test_a_collection_is_built_judged_and_measured_without_the_command_line(tmp_path: Path) -> None:
    documents = tmp_path / "docs"
    documents.mkdir()
    for n in range(6):
        words = " ".join(f"topic{n} item{n}x{i}" for i in range(20))
        (documents / f"guide{n}.md").write_text(f"# Guide {n}\n\n{words}\n", encoding="utf-8")
    script = [sys.executable, "-W", "error", "-c", SCRIPT, str(documents), str(tmp_path / "coll")]
    done = subprocess.run(script, capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "built 6 3 True",
        "judged again 0 0 True",
        "relabelled True",
        "compared True True",
        "evaluated ['bm25', 'dense', 'hybrid']",
        "agreed 1 True",
        "refused name False",
    ]
