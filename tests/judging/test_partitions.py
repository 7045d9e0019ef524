"""Judging by partitions: workers that share nothing but a folder give what one machine gives."""

import asyncio
import json
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from threading import Event, Thread, Timer
from typing import Any

import pytest
from made import make_collection

from labeler.cli import execute
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection
from labeler.data import Document, Pair, Query
from labeler.errors import BadInput, BudgetReached, CallFailed, FileProblem, Incomplete, Misuse
from labeler.judging.assessor import Texts, texts_of, values_of
from labeler.judging.judge import JudgeOptions, judge
from labeler.judging.validate import validate
from labeler.model import Model, Reply, Request
from labeler.models.session import Control
from labeler.models.settings import Limits
from labeler.scale.partitions.collect import CollectedPartitions, collect
from labeler.scale.partitions.folder import (
    PartitionedJob,
    PartitionFolder,
    read_pairs,
    write_pairs,
)
from labeler.scale.partitions.work import (
    JudgedPartition,
    Share,
    judge_partitions,
    share_of,
)
from labeler.scale.partitions.write import awrite_partitions
from labeler.testing import fake_model
from labeler.trec.files import read_qrels

QUERIES, DOCUMENTS = 4, 3
PAIRS = QUERIES * DOCUMENTS


def test_a_partition_keeps_all_of_a_query_that_a_prompt_may_show(tmp_path: Path) -> None:
    known = {"description": "d", "reference": "30 days", "nuggets": ["a", "b"], "language": "de"}
    query, document = Query("q", "schuhe", known), Document("d", "text", "title")
    texts = Texts({"q": query}, {"d": document})
    pair = Pair("q", "d")
    partition = write_pairs(tmp_path / "p.jsonl.gz", [pair], texts, {})
    read = read_pairs(tmp_path / "p.jsonl.gz", partition).texts
    read_query, read_document = read.of(pair)
    assert values_of(read_query) == values_of(query)
    assert texts_of(read_document) == texts_of(document)
    assert values_of(query)["nuggets"] == "a; b"


def _filled(schema: Mapping[str, Any], seed: str) -> Any:
    """Something that a schema allows, which depends on the seed alone."""
    number = int(sha256(seed.encode()).hexdigest(), 16)
    if "enum" in schema:
        return schema["enum"][number % len(schema["enum"])]
    if schema.get("type") == "object":
        return {key: _filled(of, seed + key) for key, of in schema["properties"].items()}
    if schema.get("type") == "array":
        size = schema.get("minItems", 3)
        return [_filled(schema["items"], f"{seed}{at}") for at in range(size)]
    return number % 4 if schema.get("type") == "integer" else f"text {number % 7}"


class Assessor:
    """A model that grades by what it is shown, and counts its calls."""

    def __init__(self, fails: str = "") -> None:
        self.calls = 0
        self.fails = fails

    @property
    def model(self) -> Model:
        return fake_model(self._answer)

    def _answer(self, request: Request) -> Reply:
        self.calls += 1
        said = request.messages[-1].content
        if self.fails and self.fails in said:
            raise CallFailed("the server is gone")
        grade = {"type": "object", "properties": {"grade": {"enum": [0, 1, 2, 3]}}}
        text = json.dumps(_filled(request.schema or grade, said))
        return Reply(text, model="fake", prompt_tokens=100, completion_tokens=10, body=b"{}")


@pytest.fixture
def assessor() -> Assessor:
    return Assessor()


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return make_collection(tmp_path / "coll", QUERIES, DOCUMENTS)


@pytest.fixture
def folder(tmp_path: Path) -> PartitionFolder:
    return PartitionFolder.of(tmp_path / "parts")


def write(
    collection: Collection,
    folder: PartitionFolder,
    assessor: Assessor,
    rows: int = DOCUMENTS,
    **more: Any,
) -> PartitionedJob:
    options = replace(JudgeOptions(model=assessor.model, name="one"), **more)
    return asyncio.run(awrite_partitions(collection, folder, options, rows))


def work(
    folder: PartitionFolder, assessor: Assessor, number: int, **limits: Any
) -> JudgedPartition:
    share = Share(Limits(**limits), model=assessor.model)
    (judged,) = judge_partitions(folder, share, number)
    return judged


def work_all(
    collection: Collection, folder: PartitionFolder, assessor: Assessor
) -> CollectedPartitions:
    for number in reversed(folder.unfinished(folder.read_job())):
        work(folder, assessor, number)
    return collect(collection, folder)


def live(collection: Collection, assessor: Assessor, **more: Any) -> Any:
    return judge(collection, model=assessor.model, name="one", **more)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("prompt", "rows"),
    [("four-grades", 1), ("four-grades", 7), ("basic", 100), ("list", 3)]
    + [(name, 3) for name in ("criteria", "facts", "few-shot")],
)
def test_partitions_give_what_one_machine_gives_byte_for_byte(
    collection: Collection, folder: PartitionFolder, tmp_path: Path, prompt: str, rows: int
) -> None:
    assessor = Assessor()
    human = "".join(f"q{q} 0 d{d} {(q + d) % 4}\n" for q in range(QUERIES) for d in range(2))
    collection.qrels("human").parent.mkdir()
    collection.qrels("human").write_text(human)
    write(collection, folder, assessor, rows, prompt=prompt)
    other, alone = Collection(tmp_path / "other"), Assessor()
    shutil.copytree(collection.folder, other.folder)
    result = live(other, alone, prompt=prompt).tally
    collected = work_all(collection, folder, assessor).result.tally
    for file in (Collection.judgements, Collection.qrels):
        assert file(collection, "one").read_bytes() == file(other, "one").read_bytes()
    assert assessor.calls == alone.calls
    assert (collected.judged, collected.failures) == (result.judged, result.failures)
    cards = [json.loads(each.card.read_text())["judge"]["one"] for each in (collection, other)]
    assert cards[0] == cards[1]
    assert validate(other).checked["grades with their replies"] == result.judged
    live(collection, assessor, prompt=prompt)
    assert assessor.calls == alone.calls


def test_some_partitions_can_be_collected_and_what_others_had_stays(
    collection: Collection, folder: PartitionFolder, assessor: Assessor
) -> None:
    live(collection, assessor, limits=Limits(max_calls=5), concurrency=1)
    assert sum(map(len, read_qrels(collection.qrels("one")).values())) == 5
    write(collection, folder, assessor)
    with pytest.raises(Misuse, match=r"1 to|0 to 3"):
        work(folder, assessor, 4)
    work(folder, assessor, 3)
    collected = collect(collection, folder)
    assert (collected.judged_partitions, collected.partitions, collected.result.judged) == (1, 4, 8)
    assert collected.sentence() == "1 of 4 partitions judged, 3 new replies"
    with pytest.raises(Incomplete, match=r"3 of 4 partitions not judged yet"):
        collected.check_all()
    before = collection.judgements("one").read_text().splitlines()
    whole = work_all(collection, folder, assessor)
    whole.check_all()
    assert whole.result.judged == assessor.calls == PAIRS
    assert set(before) < set(collection.judgements("one").read_text().splitlines())


@pytest.mark.parametrize("prompt", ["criteria", "facts", "list"])
def test_pairs_of_partitions_that_are_left_have_no_failure(
    collection: Collection, folder: PartitionFolder, assessor: Assessor, prompt: str
) -> None:
    write(collection, folder, assessor, prompt=prompt)
    work(folder, assessor, 2)
    tally = collect(collection, folder).result.tally
    assert (tally.pairs, tally.failures["call_failed"]) == (DOCUMENTS, 0)


def test_a_partition_is_written_once_it_is_done_and_asks_only_for_what_is_missing(
    collection: Collection, folder: PartitionFolder, assessor: Assessor
) -> None:
    write(collection, folder, assessor, rows=PAIRS)
    for calls in (5, 9):
        with pytest.raises(BudgetReached):
            work(folder, assessor, 0, max_calls=calls - assessor.calls)
        assert assessor.calls == calls
    assert not folder.judged(0).exists()
    with pytest.raises(Incomplete, match=r"no partition is judged yet"):
        collect(collection, folder)
    assert len(read_replies(collection)) == 9
    work(folder, assessor, 0)
    work(folder, assessor, 0)
    assert assessor.calls == PAIRS
    assert collect(collection, folder).replies == PAIRS - 9


def read_replies(collection: Collection) -> range:
    from labeler.store import open_store

    with open_store(collection.store) as store:
        return range(len(store))


def test_a_pair_that_fails_has_no_grade_and_is_asked_about_again_when_told_to(
    collection: Collection, folder: PartitionFolder
) -> None:
    failing = Assessor("what q1?")
    write(collection, folder, failing)
    collected = work_all(collection, folder, failing)
    assert collected.result.failures == {"call_failed": DOCUMENTS}
    assert "q1" not in read_qrels(collection.qrels("one"))
    for path in (folder.judged(1), collection.judgements("one")):
        outcomes = [row.judged.outcome for row in read_judgements(path)]
        details = {getattr(outcome, "detail", "") for outcome in outcomes}
        assert "the server is gone" in details
    failing.fails, calls = "", failing.calls
    assert work(folder, failing, 1).judged == DOCUMENTS
    assert failing.calls == calls + DOCUMENTS
    tally = collect(collection, folder).result.tally
    assert (tally.judged, tally.remembered) == (PAIRS, PAIRS)


def test_partitions_of_another_set_are_refused_in_a_line_that_says_what_differs(
    collection: Collection, folder: PartitionFolder, assessor: Assessor
) -> None:
    job = write(collection, folder, assessor)
    assert write(collection, folder, assessor) == job
    with pytest.raises(Misuse, match=r"its prompt is 'four-grades@.*and not 'basic@"):
        write(collection, folder, assessor, prompt="basic")
    with pytest.raises(Misuse, match=r"its model is 'fake', and not 'other'"):
        write(collection, folder, assessor, model=fake_model("", "other"))
    with pytest.raises(Misuse, match=r"its name is 'one', and not 'two'; collect what it holds"):
        write(collection, folder, assessor, name="two")
    lines = collection.pool.read_text().splitlines()
    collection.pool.write_text("".join(f"{line}\n" for line in lines[:-1]))
    with pytest.raises(Misuse, match=r"the pool of the collection has changed since"):
        write(collection, folder, assessor)


def test_replies_about_a_collection_that_has_changed_since_are_not_lost(
    collection: Collection, folder: PartitionFolder, assessor: Assessor
) -> None:
    write(collection, folder, assessor)
    for number in range(QUERIES):
        work(folder, assessor, number)
    lines = collection.pool.read_text().splitlines()
    collection.pool.write_text("".join(f"{line}\n" for line in lines[1:]))
    with pytest.raises(BadInput, match=r"pool.jsonl: not what the partitions were written from"):
        collect(collection, folder)
    live(collection, assessor)
    assert assessor.calls == PAIRS


def test_files_that_are_damaged_missing_or_something_else_are_refused_in_a_line(
    collection: Collection, folder: PartitionFolder, assessor: Assessor, tmp_path: Path
) -> None:
    with pytest.raises(FileProblem, match=r"is the folder shared with this machine"):
        work(folder, assessor, 0)
    with pytest.raises(Misuse, match=r"holds something else \(corpus.jsonl\); name a new folder"):
        write(collection, PartitionFolder.of(collection.folder), assessor)
    write(collection, folder, assessor)
    whole = folder.pairs(0).read_bytes()
    folder.pairs(0).write_bytes(whole[:-9])
    with pytest.raises(BadInput, match=r"00000.jsonl.gz: this partition is damaged"):
        work(folder, assessor, 0)
    folder.pairs(0).unlink()
    with pytest.raises(BadInput, match=r"this partition is not there"):
        work(folder, assessor, 0)
    work(folder, assessor, 1)
    folder.judged(1).write_bytes(b"nothing of the kind")
    with pytest.raises(BadInput, match=r"00001.jsonl:1: "):
        work(folder, assessor, 1)
    prompt = folder.prompt("four-grades")
    prompt.write_text(prompt.read_text().replace("0", "5"))
    with pytest.raises(BadInput):
        work(folder, assessor, 2)
    folder.job.write_text("{}")
    with pytest.raises(BadInput, match=r"job.json: no partitions of this version"):
        work(folder, assessor, 2)


def test_grades_that_no_reply_of_a_partition_gave_are_not_collected(
    collection: Collection, folder: PartitionFolder, assessor: Assessor
) -> None:
    write(collection, folder, assessor)
    work(folder, assessor, 0)
    path = folder.judged(0)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**row, "grade": 3 - row["grade"]}) + "\n" for row in rows))
    collect(collection, folder)
    collected = [json.loads(line) for line in collection.judgements("one").read_text().splitlines()]
    assert [row["grade"] for row in collected] == [row["grade"] for row in rows]
    assert validate(collection).checked["grades with their replies"] == DOCUMENTS
    for file in (collection.judgements("one"), collection.qrels("one"), path):
        file.unlink()
    folder.replies(0).unlink()
    work(folder, assessor, 0)
    folder.replies(0).unlink()
    collection.store.unlink()
    said = r"00000.jsonl: a pair has no reply: q0 d0; remove the file, and have it judged again"
    with pytest.raises(BadInput, match=said):
        collect(collection, folder)
    assert not collection.judgements("one").exists()


def test_the_secret_stands_in_a_file_for_its_owner_alone(
    collection: Collection, folder: PartitionFolder, assessor: Assessor
) -> None:
    write(collection, folder, assessor)
    assert stat.S_IMODE(folder.secret.stat().st_mode) == 0o600
    assert folder.read_secret().decode() not in folder.job.read_text()


def test_what_weighs_a_pair_by_all_documents_is_not_judged_in_partitions(
    collection: Collection, folder: PartitionFolder, assessor: Assessor
) -> None:
    with pytest.raises(Misuse, match=r"similarity weighs a pair by all documents"):
        write(collection, folder, assessor, model="similarity")
    with pytest.raises(Misuse, match=r"count from 1"):
        write(collection, folder, assessor, rows=0)


def test_a_share_is_an_equal_part_and_of_calls_at_once_one_at_least() -> None:
    share = share_of(Share(Limits(rpm=60, max_calls=10, max_cost=1.0), 9, retry_failed=True), 4)
    assert (share.limits.rpm, share.limits.max_calls, share.concurrency) == (15, 2, 2)
    assert (share.limits.max_cost, share.retry_failed) == (0.25, True)
    with pytest.raises(Misuse, match=r"take fewer workers"):
        share_of(Share(concurrency=3), 4)


def test_each_worker_takes_partitions_that_no_other_is_at(
    collection: Collection, folder: PartitionFolder, assessor: Assessor
) -> None:
    write(collection, folder, assessor)
    share, begun = Share(model=assessor.model), Event()
    asked, answer = assessor.model.ask, Event()

    async def slowly(request: Request) -> Reply:
        begun.set()
        await asyncio.to_thread(answer.wait, 30)
        return await asked(request)

    slow = replace(share, model=replace(assessor.model, ask=slowly))
    other = Thread(target=judge_partitions, args=(folder, slow, 1))
    other.start()
    assert begun.wait(30)
    assert [each.partition for each in judge_partitions(folder, share)] == [0, 2, 3]
    Timer(0.3, answer.set).start()
    assert [each.judged for each in judge_partitions(folder, share, wait=True)] == [3] * 4
    other.join()
    assert assessor.calls == PAIRS


@pytest.mark.parametrize("words", ["--workers 3 --partition 1", "--ray-address head:6379"])
def test_options_that_do_not_go_with_workers_are_refused(
    collection: Collection, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    given = words.split()
    assert execute(["parts", "work", str(collection.folder.parent / "parts"), *given]) == 2
    assert "--workers: on Ray" in capsys.readouterr().err


def test_collecting_by_the_command_ends_with_3_while_partitions_are_left(
    collection: Collection,
    folder: PartitionFolder,
    assessor: Assessor,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(collection, folder, assessor)
    command = ["parts", "collect", str(collection.folder), str(folder.path)]
    assert execute(command) == 3
    assert "no partition is judged yet" in capsys.readouterr().err
    work(folder, assessor, 1)
    assert execute(command) == 3
    shown = capsys.readouterr()
    assert "1 of 4 partitions judged, 3 new replies" in shown.out
    assert "3 of 4 partitions not judged yet" in shown.err
    work_all(collection, folder, assessor)
    assert execute([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["judged_partitions"] == 4


def test_a_partition_that_is_done_while_others_are_collected_waits_with_its_replies(
    collection: Collection, folder: PartitionFolder, assessor: Assessor
) -> None:
    write(collection, folder, assessor)
    work(folder, assessor, 0)
    late: list[int] = []

    @contextmanager
    def progress(_name: str) -> Iterator[Callable[[int, int], None]]:
        yield lambda _done, _total: None
        if not late:
            late.append(1)
            other = Thread(target=work, args=(folder, assessor, 1))
            other.start()
            other.join()

    collected = collect(collection, folder, control=Control(progress=progress))
    assert (collected.judged_partitions, collected.result.judged, collected.replies) == (1, 3, 3)
    assert len(read_replies(collection)) == collected.result.judged
    assert folder.judged(1).exists()


def test_judgements_that_nothing_says_the_job_of_are_not_taken_for_those_of_another(
    collection: Collection, folder: PartitionFolder, assessor: Assessor
) -> None:
    write(collection, folder, assessor)
    work(folder, assessor, 0)
    folder.job.unlink()
    with pytest.raises(Misuse, match=r"holds judgements, and no job.json that says of what"):
        write(collection, folder, assessor, prompt="basic")


def test_another_reply_to_the_same_request_elsewhere_is_no_damage(
    collection: Collection, folder: PartitionFolder, tmp_path: Path
) -> None:
    """Queries of equal texts lie in two partitions, and a model need not repeat itself."""
    rows = [json.loads(line) for line in collection.queries.read_text().splitlines()]
    rows[3]["text"] = rows[0]["text"]
    collection.queries.write_text("".join(json.dumps(row) + "\n" for row in rows))
    grades = iter([0, 1, 2, 3] * 50)

    class Fickle(Assessor):
        def _answer(self, request: Request) -> Reply:
            return replace(super()._answer(request), text=json.dumps({"grade": next(grades)}))

    fickle = Fickle()
    write(collection, folder, fickle)
    for number in folder.unfinished(folder.read_job()):
        work(folder, fickle, number)
    assert collect(collection, folder).result.tally.judged == PAIRS
    assert validate(collection).checked["grades with their replies"] == PAIRS
