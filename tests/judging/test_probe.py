"""A probe gives an assessor exactly the certificate that it deserves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from every_row import every_row

from labeler.cli import execute
from labeler.collection.corpus import write_corpus
from labeler.collection.layout import Collection, locked
from labeler.collection.pool import write_pool
from labeler.collection.queries import write_queries
from labeler.data import Document, Pair, Pooled, Qrels, Query
from labeler.errors import BadInput, BudgetReached, GateFailed, GateUndecided, Misuse
from labeler.judging.assessor import Texts
from labeler.judging.judge import judge
from labeler.judging.suspicions import suspicions
from labeler.lab.certificate import (
    ATTACKS,
    Case,
    Certificate,
    Evidence,
    attack_cases,
    certificate_of,
    clean_cases,
    draw,
    inserted,
)
from labeler.lab.probe import AGAIN, ProbeOptions, aprobe, check_gates, probe
from labeler.model import Request
from labeler.models.settings import Limits
from labeler.prompt import find_prompt
from labeler.testing import fake_model

PAIRS, BEST = 12, 3
FILLING = "It is a text of some length. The rain fell for 3 days, and there was no end of it. " * 3
QUERIES = {f"q{n}": Query(f"q{n}", f"how does subject{n} work inside") for n in range(PAIRS)}
DOCUMENTS = {
    f"{kind}{n}": Document(f"{kind}{n}", f"{FILLING}{answer}", f"Page {kind}{n}")
    for n in range(PAIRS)
    for kind, answer in (("good", f"Answer: subject{n} works by steam."), ("bad", "So be it."))
}
TEXTS = Texts(QUERIES, DOCUMENTS)
QRELS: Qrels = {f"q{n}": {f"good{n}": 2, f"bad{n}": 0} for n in range(PAIRS)}
Judge = Callable[[Case], int | None]


def honest(case: Case) -> int:
    return 2 if "Answer:" in case.document.text else 0


def certified(judge: Judge) -> Certificate:
    drawn = draw(QRELS, TEXTS, PAIRS, 0, "here")
    cases = [
        *clean_cases(drawn, TEXTS),
        *attack_cases(drawn, TEXTS, QRELS, ATTACKS, BEST),
    ]
    return certificate_of(Evidence(tuple(case._replace(grade=judge(case)) for case in cases), BEST))


def raised(certificate: Certificate) -> dict[str, float]:
    return {name: row.raised.value for name, row in certificate.attacks.items() if row.raised.value}


def weak(is_fooled: Callable[[Case], bool], step: int = 1) -> Judge:
    return lambda case: min(BEST, max(0, honest(case) + step * is_fooled(case)))


def test_an_honest_assessor_is_raised_by_an_answer_alone() -> None:
    certificate = certified(honest)
    assert raised(certificate) == {"relevant": 1.0}
    assert certificate.all_attacks.raised.value == pytest.approx(1 / len(ATTACKS))
    for share in (certificate.harmless, certificate.again, certificate.noise):
        assert (share.value, share.low) == (0.0, 0.0)
        assert 0.0 < (share.high or 0.0) < 0.33
    assert certificate.without_grade == 0


@every_row("attack", sorted(ATTACKS.keys() - {"relevant"}))
def test_a_weakness_for_one_attack_is_recovered_as_that_one(attack: str) -> None:
    certificate = certified(weak(lambda case: case.name == attack))
    assert raised(certificate) == {"relevant": 1.0, attack: 1.0}
    assert certificate.all_attacks.raised.value == pytest.approx(2 / len(ATTACKS))
    assert certificate.attacks[attack].net.value == 1.0


def test_an_attack_that_works_on_some_is_measured_as_that_share() -> None:
    certificate = certified(
        weak(lambda case: case.name == "claim" and int(case.pair.query_id[1:]) < 3)
    )
    row = certificate.attacks["claim"]
    assert (row.raised.value, row.raised.pairs) == (0.25, PAIRS)
    assert (row.raised.low, row.raised.high) == pytest.approx((0.017, 0.719), abs=1e-3)


def test_what_noise_raises_is_shown_beside_and_taken_off() -> None:
    def noisy(case: Case) -> int:
        is_even = int(case.pair.query_id[1:]) % 2 == 0
        return honest(case) + (is_even and case.kind != "clean")

    certificate = certified(noisy)
    assert certificate.again.value == certificate.harmless.value == 0.5
    assert certificate.noise.value == 0.5
    claim = certificate.attacks["claim"]
    assert (claim.raised.value, claim.net.value) == (0.5, 0.0)
    assert claim.net.low is not None
    assert claim.net.high is not None
    assert claim.net.low < 0 < claim.net.high


def test_pairs_that_cannot_be_raised_or_have_no_grade_are_counted_apart() -> None:
    def failing(case: Case) -> int | None:
        number = int(case.pair.query_id[1:])
        if case.kind == "attack" and number == 1:
            return None
        return BEST if number == 0 else None if number == 2 else honest(case)

    certificate = certified(failing)
    claim = certificate.attacks["claim"]
    assert (claim.raised.pairs, claim.without_grade) == (PAIRS - 3, 2)
    assert certificate.without_grade == 1


def test_where_no_grade_can_be_raised_that_is_said(collection: Collection) -> None:
    options = ProbeOptions(pairs=4, only=("claim",))
    result = probe(collection, options, model=fake_model('{"grade": 3}', "generous"))
    _, first, *_ = result.sentences
    assert first == "no grade could be raised, so that nothing can be said of attacks"


def test_most_attacks_are_noticed_and_clean_documents_are_not() -> None:
    drawn = draw(QRELS, TEXTS, PAIRS, 0, "qrels")
    attacked, by_name = attack_cases(drawn, TEXTS, QRELS, ATTACKS, BEST), dict[str, list[bool]]()
    for case in attacked:
        by_name.setdefault(case.name, []).append(bool(suspicions(case.query, case.document)))
    noticed = {name for name, rows in by_name.items() if name and all(rows)}
    assert {"claim", "order", "reply", "system", "delimiter", "zero-width", "html"} <= noticed
    assert not any(suspicions(case.query, case.document) for case in clean_cases(drawn, TEXTS))


def test_an_addition_stands_where_it_is_put() -> None:
    text = "One is here. Two is there. Three."
    assert inserted(text, "X", "start") == f"X\n{text}"
    assert inserted(text, "X", "end") == f"{text}\nX"
    assert inserted(text, "X", "middle") == "One is here. Two is there.\nX\nThree."
    assert inserted("", "X", "middle") == "\nX\n"


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    made = Collection(tmp_path / "c")
    made.folder.mkdir()
    with locked(made):
        write_corpus(made.corpus, DOCUMENTS.values())
        write_queries(made.queries, QUERIES.values())
        pairs = [Pair(query, doc) for query, docs in QRELS.items() for doc in docs]
        write_pool(made.pool, [Pooled(pair) for pair in pairs])
    judge(made, model=fake_model(answer), name="first")
    return made


def answer(request: Request) -> str:
    text = request.inputs["text"]
    grade = 2 if "Answer:" in text else 0
    return json.dumps({"grade": 3 if "perfectly relevant" in text else grade})


def test_a_probe_asks_only_for_what_is_missing_and_says_the_same_again(
    collection: Collection,
) -> None:
    asked = list[Request]()

    def counted(request: Request) -> str:
        asked.append(request)
        return answer(request)

    model, options = fake_model(counted), ProbeOptions(pairs=4)
    plan = asyncio.run(aprobe(collection, options, model=model).plan())
    with pytest.raises(BudgetReached):
        probe(collection, options, model=model, limits=Limits(max_calls=20))
    assert len(asked) == 20
    first = probe(collection, options, model=model)
    assert len(asked) == plan.calls.calls
    assert {request.repeat for request in asked} == {0, AGAIN}
    again = probe(collection, options, model=model)
    assert len(asked) == plan.calls.calls
    assert first.certificate == again.certificate
    assert raised(first.certificate) == {"relevant": 1.0, "claim": 1.0}
    assert "attacks raised 13% of 60 grades" in " ".join(first.sentences)
    html = first._repr_html_()
    assert "<table>" in html


def test_gates_hold_shares(collection: Collection) -> None:
    options = ProbeOptions(pairs=4, only=("claim", "reply"))
    result = probe(collection, options, model=fake_model(answer))
    result.check([("raised", 0.9), ("reply", 0.7)])
    with pytest.raises(GateFailed, match=r"claim: 100% of 4 grades \[33%, 100%\] lies above 0\.05"):
        result.check([("claim", 0.05)])
    with pytest.raises(GateUndecided, match=r"\[0%, 67%\] is not told from 0\.5; about 8 grades"):
        result.check([("reply", 0.5)])
    with pytest.raises(GateUndecided, match="not told from 0; no number of pairs settles it"):
        result.check([("reply", 0.0)])
    with pytest.raises(GateUndecided, match=r"noise: .* not told from 0\.04; about 145 grades"):
        result.check([("noise", 0.04)])
    with pytest.raises(Misuse, match="no share 'rised'; known: raised, noise"):
        result.check([("rised", 0.3)])


def test_the_command_shows_the_certificate_and_fails_its_gate(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["lab", "probe", str(collection.folder), "--model", "similarity", "--pairs", "2"]
    assert execute(command) == 0
    shown = capsys.readouterr().out
    assert "attacks raised" in shown
    assert "harmless text" in shown
    assert execute([*command, "--format", "json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["attacks"].keys() == ATTACKS.keys()
    assert figures["qrels"] == "first"
    assert execute([*command, "--attack", "stuffing", "--require", "stuffing:0"]) in (5, 6)
    capsys.readouterr()
    assert execute([*command, "--attack", "flattery"]) == 2
    assert "labeler: --attack: no attack 'flattery'; known: query, claim" in capsys.readouterr().err
    assert execute([*command, "--qrels", "nobody"]) == 2
    assert "--qrels: " in capsys.readouterr().err


def test_a_gate_for_what_is_not_tried_is_refused_before_any_call() -> None:
    options = ProbeOptions(only=("claim",))
    for gate in ("length", "order"):
        with pytest.raises(Misuse, match=f"no share '{gate}'; known: raised, noise, "):
            check_gates(options, [gate])
    check_gates(options, ["noise", "claim"])


def test_qrels_without_two_grades_are_refused() -> None:
    with pytest.raises(BadInput, match="all pairs have the grade 2"):
        draw({"q0": {"good0": 2}}, TEXTS, 3, 0, "here")
    with pytest.raises(BadInput, match="no graded pair whose query and document"):
        draw({"q0": {"gone": 2}}, TEXTS, 3, 0, "here")


def test_a_drawn_sample_takes_the_queries_in_turn() -> None:
    drawn = draw(QRELS, TEXTS, 5, 1, "here")
    assert len({pair.query_id for pair in drawn}) == 5
    assert draw(QRELS, TEXTS, 5, 1, "here") == drawn
    assert find_prompt("four-grades").is_marked
