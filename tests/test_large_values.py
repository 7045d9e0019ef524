"""A grade, a rank, a score or an option of any size costs no more than a small one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from labeler.cli import execute as labeler
from tests.work import MEGABYTE, peak, steps

SMALL, LARGE = 9, 2_000_000  # so large that a byte for each would show, and no harm is done
MOST = 2**31 - 1

COMMANDS = [
    "trec-eval -m all_trec -m dcg -m ideal_dcg -m yaap {top} {run}",
    "trec-eval -m P.{value} -m recall.{value} -m ndcg_cut.{value} -m map_cut.{value} {low} {run}",
    "trec-eval -m relstring.{value} -m relative_P.{value} -m unj.{value} {low} {run}",
    "trec-eval -m success.{value} -m Rprec_mult.{value} -m set_F.{value} {low} {run}",
    "trec-eval -m rbp.{value}=2,p={value} -m utility.{value},1,1,{value} {low} {run}",
    "trec-eval -l {value} -M {value} -N {value} -m official {low} {run}",
    "evaluate {top} {run} -m nDCG@10 -m ERR -m RBP -m nERR -m Q-measure -m AP -m infAP",
    "evaluate {low} {run} -m nDCG@{value} -m P@{value} -m AP@{value} -m Judged@{value} --scenarios",
    "evaluate {low} {run} -m AP(rel={value}) -m Bpref(rel={value}) --scenarios",
    "evaluate {top} {run} {far} -m nDCG@10 -m AP -m Bpref --scenarios --max-grade {value}",
    "lab leaderboard {low} {top} {run} {far} --seed {value}",
    "agree {low} {top} --draws 100",
    "agree {low} {top} --map-human 1={value} --draws 100",
    "agree {top} {low} --map-human {value}=1 --draws 100",
    "agree {low} {top} --scale 0:3 --draws 100",
    "agree {low} {top} --cut 1 --seed {value} --draws 100",
    "qrels stats {top}",
    "qrels compare {low} {top}",
    "qrels map {top} --map 0:1,1:1,2:2,3:3,{value}:4 -o {out}",
    "qrels merge {low} {top} -o {out} --conflict max",
    "runs stats {far}",
    "runs validate {far}",
    "runs cut {run} --depth {value} -o {out}",
    "runs sort {far} -o {out}",
    "runs fuse {run} {far} -o {out} --k {value}",
    "runs fuse {run} {far} -o {out} --depth {value}",
]


@pytest.fixture(params=COMMANDS)
def command(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[int], Callable[[], int]]:
    """The command with a value in its files and options."""

    def of(value: int) -> Callable[[], int]:
        documents = [(f"q{n % 3}", f"d{n}", n) for n in range(30)]
        files = {
            "low": [f"{q} 0 {d} {n % 4}\n" for q, d, n in documents],
            "top": [f"{q} 0 {d} {value if n == 7 else n % 4}\n" for q, d, n in documents],
            "run": [f"{q} Q0 {d} {n} {-n} t\n" for q, d, n in documents],
            "far": [f"{q} Q0 {d} {n + value} {value * n} u\n" for q, d, n in documents],
        }
        folder = tmp_path / str(value)
        folder.mkdir()
        for name, lines in files.items():
            (folder / name).write_text("".join(lines))
        paths = {name: str(folder / name) for name in (*files, "out")}
        words = request.param.format(value=value, **paths).split()
        return lambda: labeler(words)

    return of


def test_it_takes_no_more_memory_or_steps(
    command: Callable[[int], Callable[[], int]], capsys: pytest.CaptureFixture[str]
) -> None:
    small, large = command(SMALL), command(LARGE)
    assert small() == 0  # and what is loaded once is loaded
    memory, work = peak(small), steps(small)
    assert peak(large) < memory + MEGABYTE
    assert steps(large) < 2 * work + 1000
    assert command(MOST)() in {0, 2, 65}
    assert "Traceback" not in capsys.readouterr().err
