"""`labeler trec-eval` prints what trec_eval 10 prints, to the byte."""

from pathlib import Path

import pytest

from labeler.cli import run as labeler

# The commands that trec_eval's own Makefile runs, and the files that it compares with.
COMMANDS = [
    (["qrels.test", "results.test"], "out.test"),
    (["qrels.test.with-comments", "results.test"], "out.test"),
    (["-m", "all_trec", "qrels.test", "results.test"], "out.test.a"),
    (["-m", "all_trec", "-q", "qrels.test", "results.test"], "out.test.aq"),
    (["-m", "all_trec", "-q", "-c", "qrels.test", "results.trunc"], "out.test.aqc"),
    (["-m", "all_trec", "-q", "-c", "-M100", "qrels.test", "results.trunc"], "out.test.aqcM"),
    (
        ["-m", "all_trec", "-mrelstring.20", "-q", "-l2", "qrels.rel_level", "results.test"],
        "out.test.aql",
    ),
]


@pytest.mark.parametrize(("arguments", "output"), COMMANDS, ids=[" ".join(c) for c, _ in COMMANDS])
def test_its_own_tests_reproduce_byte_for_byte(
    arguments: list[str], output: str, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "trec_eval"
    given = [str(folder / a) if a.startswith(("qrels", "results")) else a for a in arguments]
    assert labeler(["trec-eval", *given]) == 0
    assert capsys.readouterr().out == (folder / output).read_text()
