"""Pairs whose requests are the same to the letter, as of documents that stand there twice."""

import json
import re
from pathlib import Path

from labeler.cli import execute
from labeler.collection.layout import Collection, locked
from labeler.collection.pool import write_pool
from labeler.data import Pair, Pooled
from labeler.testing import Answer, FakeServer
from labeler.testing.fake_server import Call, completion
from labeler.trec.files import read_qrels


def test_equal_requests_are_asked_once_and_wait_for_that_answer_alone(tmp_path: Path) -> None:
    ids = [f"d{n}" for n in range(40)]
    rows = ({"_id": i, "title": "", "text": f"copy {n % 4}"} for n, i in enumerate(ids))
    collection = Collection(tmp_path)
    collection.corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
    collection.queries.write_text('{"_id": "q", "text": "what"}\n')
    with locked(collection):
        write_pool(collection.pool, (Pooled(Pair("q", i)) for i in ids))

    def slowly(call: Call) -> Answer:
        found = re.search(r"copy (\d)", call.body["messages"][-1]["content"])
        grade = int(found[1]) if found else 0  # the preflight's request names none
        return Answer(completion(json.dumps({"grade": grade})), delay=0.05)

    with FakeServer(slowly) as server:
        address = ["--model", "fake", "--base-url", server.base_url]
        assert execute(["judge", str(tmp_path), *address, "--as", "a"]) == 0
        asked = [call for call in server.calls if re.search(r"copy \d", str(call.body))]
    assert len(asked) == 4
    assert read_qrels(collection.qrels("a")) == {"q": {i: n % 4 for n, i in enumerate(ids)}}
