"""A cross-encoder in files of the user's own: a tiny one, made here and run by the real package."""

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from labeler.cli import execute
from labeler.collection.layout import Collection
from labeler.collection.whose import made_by
from labeler.errors import BadInput, Misconfigured
from labeler.models.encoders import CrossEncoder, load_cross_encoder, remembering
from labeler.store.vectors import VectorFile
from labeler.trec.runs import ranking, read_run
from tests.made import make_collection
from tests.models.test_encoder_files import WORDS, tokenizer_file


def cross_encoder(folder: Path) -> Path:
    """Its score is the sum of what the words of query and text weigh: each its place in `WORDS`."""
    from onnx import TensorProto, checker, helper, numpy_helper, save

    folder.mkdir()
    ids, mask = (
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    )
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1])
    weights = np.arange(len(WORDS), dtype=np.float32).reshape(-1, 1)
    nodes = [
        helper.make_node("Gather", ["weights", "input_ids"], ["of_tokens"]),
        helper.make_node("ReduceSum", ["of_tokens", "axis"], ["logits"], keepdims=0),
    ]
    constants = [
        numpy_helper.from_array(weights, "weights"),
        numpy_helper.from_array(np.array([1]), "axis"),
    ]
    graph = helper.make_graph(nodes, "tiny", [ids, mask], [logits], constants)
    opset = helper.make_opsetid("", 17)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=9)
    checker.check_model(model)
    save(model, str(folder / "model.onnx"))
    tokenizer_file(folder / "tokenizer.json")
    settings = {"model_max_length": 64, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def test_query_and_text_are_scored_together(tmp_path: Path) -> None:
    model = load_cross_encoder(cross_encoder(tmp_path / "tiny"))
    at = {word: float(number) for number, word in enumerate(WORDS)}
    scores = model.score("cats", ["fish", "fish sleep", "table"])
    expected = [at["fish"], at["fish"] + at["sleep"], at["table"]]
    assert scores == pytest.approx([at["cats"] + score for score in expected])
    assert model.id.startswith("cross-tiny-")


def test_another_setting_of_its_tokenizer_is_another_cross_encoder(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "tiny")
    before = load_cross_encoder(folder).id
    settings = {"model_max_length": 8, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    assert load_cross_encoder(folder).id != before


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    made = make_collection(tmp_path / "coll", 1, 4)
    texts = ("cats", "table", "sleep", "table table")
    rows = ({"_id": f"d{n}", "title": "", "text": text} for n, text in enumerate(texts))
    made.corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
    made.run("first").parent.mkdir()
    made.run("first").write_text("".join(f"q0 Q0 d{n} {n + 1} {9 - n} x\n" for n in range(4)))
    return made


def test_a_run_is_re_ranked_by_its_scores(collection: Collection, tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "tiny")
    words = ["runs", "rerank", str(collection.folder), "first", "--as", "crossed"]
    words += ["--cross-encoder", str(folder), "--depth", "3"]
    assert execute(words) == 0
    assert ranking(read_run(collection.run("crossed"))["q0"]) == ["d1", "d2", "d0", "d3"]
    assert "x-rerank-cross-tiny-" in collection.run("crossed").read_text()
    assert made_by(collection, "llm").tags["crossed"].startswith("cross-tiny-")
    assert execute([*words, "--model", "fake"]) == 2
    (scores,) = collection.vectors.glob("cross-tiny-*.vectors")
    before = scores.read_bytes()
    assert execute(words) == 0
    assert scores.read_bytes() == before


KILLED = """
import os, signal, sys
from pathlib import Path
from labeler.models.encoders import CrossEncoder, remembering
from labeler.store.vectors import VectorFile

def score(query, texts):
    if query == "third":
        os.kill(os.getpid(), signal.SIGKILL)
    return [float(len(query + text)) for text in texts]

file = VectorFile.read(Path(sys.argv[1]), "tiny")
with file.appending(print):
    remembered = remembering(CrossEncoder("tiny", score), file)
    for query in ("first", "second", "third"):
        remembered(query, ["cats", "fish"])
"""


def test_after_a_kill_only_what_was_not_scored_is_scored(tmp_path: Path) -> None:
    path, asked = tmp_path / "tiny.vectors", list[tuple[str, str]]()

    def score(query: str, texts: Sequence[str]) -> list[float]:
        asked.extend((query, text) for text in texts)
        return [float(len(query + text)) for text in texts]

    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    file = VectorFile.read(path, "tiny")
    with file.appending(print):
        remembered = remembering(CrossEncoder("tiny", score), file)
        scores = [remembered(query, ["cats", "fish", "cats"]) for query in ("first", "third")]
    assert scores == [[9.0, 9.0, 9.0], [9.0, 9.0, 9.0]]
    assert asked == [("third", "cats"), ("third", "fish")]


def test_a_score_that_is_no_number_is_not_kept(tmp_path: Path) -> None:
    file = VectorFile.read(tmp_path / "x.vectors", "x")
    broken = CrossEncoder("x", lambda _query, texts: [float("nan")] * len(texts))
    with file.appending(print), pytest.raises(BadInput, match="no number"):
        remembering(broken, file)("cats", ["fish"])
    assert not VectorFile.read(tmp_path / "x.vectors", "x")


def test_files_that_are_missing_or_damaged_are_named(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="expected a folder") as caught:
        load_cross_encoder(tmp_path / "nowhere")
    assert caught.value.parameter == "cross_encoder"
    (tmp_path / "empty").mkdir()
    with pytest.raises(Misconfigured, match="empty: no onnx/model") as caught:
        load_cross_encoder(tmp_path / "empty")
    assert caught.value.parameter == "cross_encoder"
    folder = cross_encoder(tmp_path / "tiny")
    (folder / "model.onnx").write_bytes(b"onnx")
    with pytest.raises(Misconfigured, match="tiny: its files cannot be used"):
        load_cross_encoder(folder)
