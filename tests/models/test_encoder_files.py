"""Encoders in files of the user's own: tiny ones, made here and loaded by the real packages."""

import json
from pathlib import Path

import numpy as np
import pytest

from labeler.cli import execute
from labeler.errors import Misconfigured, Misuse
from labeler.models.encoder_options import EncoderOptions
from labeler.models.encoders import EncoderTexts, Encoding, id_of
from labeler.testing import small_collection
from labeler.text.vectors import Encoder

WORDS = ("[PAD]", "[UNK]", "cats", "cat", "sleep", "fish", "eyes", "close", "query:", "table")
VECTORS = np.random.default_rng(7).normal(size=(len(WORDS), 6)).astype(np.float32)


def tokenizer_file(path: Path) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit

    tokenizer = Tokenizer(WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.save(str(path))


def static_model(folder: Path) -> Path:
    from model2vec import StaticModel
    from tokenizers import Tokenizer

    folder.mkdir()
    tokenizer_file(folder / "tokenizer.json")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    StaticModel(VECTORS, tokenizer).save_pretrained(folder)
    return folder


def onnx_model(folder: Path) -> Path:
    """An encoder whose hidden states are the tokens' own vectors, with the mean as pooling."""
    from onnx import TensorProto, checker, helper, numpy_helper, save

    folder.mkdir()
    ids, mask = (
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    )
    shape = ["batch", "tokens", VECTORS.shape[1]]
    hidden = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, shape)
    gather = helper.make_node("Gather", ["vectors", "input_ids"], ["last_hidden_state"])
    table = numpy_helper.from_array(VECTORS, "vectors")
    graph = helper.make_graph([gather], "tiny", [ids, mask], [hidden], [table])
    opset = helper.make_opsetid("", 17)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=9)
    checker.check_model(model)
    save(model, str(folder / "model.onnx"))
    tokenizer_file(folder / "tokenizer.json")
    settings = {"model_max_length": 64, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    return folder


MAKERS = {"model2vec": static_model, "fastembed": onnx_model}


def ready(kind: str, folder: Path, kept: Path, *texts: str, query_prefix: str = "") -> Encoder:
    options = EncoderOptions(f"{kind}:{folder}", query_prefix=query_prefix)
    return Encoding(options).ready(kept, EncoderTexts(texts, texts))


def unit(*words: str) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    mean = VECTORS[[WORDS.index(word) for word in words]].mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean))


@pytest.mark.parametrize("kind", MAKERS)
def test_a_text_has_the_mean_of_its_words_vectors_at_unit_length(tmp_path: Path, kind: str) -> None:
    folder = MAKERS[kind](tmp_path / "tiny")
    encoder = ready(kind, folder, tmp_path / "kept", "cats sleep", "fish", " ")
    vectors = encoder.documents(["cats sleep", "fish", " "])
    expected = [unit("cats", "sleep"), unit("fish"), np.zeros(6)]
    assert np.allclose(vectors, expected, atol=1e-5)
    assert encoder.id.startswith(f"{kind}-tiny-")


@pytest.mark.parametrize("kind", MAKERS)
def test_a_prefix_is_encoded_with_the_text(tmp_path: Path, kind: str) -> None:
    folder = MAKERS[kind](tmp_path / "tiny")
    encoder = ready(kind, folder, tmp_path / "kept", "fish", query_prefix="query: ")
    assert np.allclose(encoder.queries(["fish"]), unit("query:", "fish"), atol=1e-5)
    assert np.allclose(encoder.documents(["fish"]), unit("fish"), atol=1e-5)


@pytest.mark.parametrize("kind", MAKERS)
def test_other_files_in_the_same_folder_are_another_encoder(tmp_path: Path, kind: str) -> None:
    folder = MAKERS[kind](tmp_path / "tiny")
    before = ready(kind, folder, tmp_path / "kept", "fish").id
    tokenizer = folder / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text().replace('"fish"', '"dogs"'))
    assert ready(kind, folder, tmp_path / "kept", "fish").id != before


SETTINGS = ("tokenizer_config.json", "special_tokens_map.json", "config.json", "onnx/weights.bin")


@pytest.mark.parametrize("name", SETTINGS)
def test_every_file_of_the_folder_and_below_counts_for_which_encoder_it_is(
    tmp_path: Path, name: str
) -> None:
    folder = onnx_model(tmp_path / "tiny")
    (folder / "onnx").mkdir()
    before = id_of("fastembed", folder)
    assert id_of("fastembed", folder) == before
    (folder / name).write_text('{"other": true}')
    changed = id_of("fastembed", folder)
    (folder / name).rename((folder / name).with_name("other.json"))
    assert len({before, changed, id_of("fastembed", folder)}) == 3


def test_links_in_the_folder_are_followed_and_hidden_files_count_for_nothing(
    tmp_path: Path,
) -> None:
    folder = onnx_model(tmp_path / "tiny")
    (tmp_path / "else").mkdir()
    (folder / "onnx").symlink_to(tmp_path / "else")
    (tmp_path / "else" / "round").symlink_to(folder)
    before = id_of("fastembed", folder)
    (folder / ".cache").mkdir()
    (folder / ".cache" / "fetched.json").write_text("{}")
    (folder / ".gitattributes").write_text("*.onnx")
    assert id_of("fastembed", folder) == before
    (tmp_path / "else" / "weights.bin").write_bytes(b"1")
    assert id_of("fastembed", folder) != before


def with_weights_beside(
    folder: Path, vectors: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]"
) -> None:
    """Let a model's table lie in a file of its own, as those of more than 2 GB must."""
    import onnx
    from onnx import numpy_helper

    path = folder / "model.onnx"
    model = onnx.load(str(path))
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(vectors, "vectors"))
    (folder / "model.onnx_data").unlink(missing_ok=True)
    onnx.save_model(
        model,
        str(path),
        save_as_external_data=True,
        location="model.onnx_data",
        size_threshold=0,
    )


def test_other_weights_beside_a_model_that_stays_the_same_give_other_vectors(
    tmp_path: Path,
) -> None:
    folder = onnx_model(tmp_path / "tiny")
    with_weights_beside(folder, VECTORS)
    model = (folder / "model.onnx").read_bytes()
    first = ready("fastembed", folder, tmp_path / "kept", "fish").documents(["fish"])
    with_weights_beside(folder, VECTORS[::-1].copy())
    assert (folder / "model.onnx").read_bytes() == model
    second = ready("fastembed", folder, tmp_path / "kept", "fish").documents(["fish"])
    assert np.allclose(first, unit("fish"), atol=1e-5)
    assert not np.allclose(first, second, atol=1e-2)


@pytest.mark.parametrize("kind", MAKERS)
def test_another_query_prefix_is_another_encoder_of_queries_under_the_same_tag(
    tmp_path: Path, kind: str
) -> None:
    folder = MAKERS[kind](tmp_path / "tiny")
    plain, prefixed = (
        ready(kind, folder, tmp_path / "kept", "fish", query_prefix=prefix)
        for prefix in ("", "query: ")
    )
    assert plain.id == prefixed.id
    assert plain.query_identity != prefixed.query_identity


def test_vectors_that_take_long_are_kept(tmp_path: Path) -> None:
    folder = onnx_model(tmp_path / "tiny")
    first = ready("fastembed", folder, tmp_path / "kept", "cats sleep", "fish")
    (file,) = (tmp_path / "kept").glob("*.vectors")
    before = file.read_bytes()
    again = ready("fastembed", folder, tmp_path / "kept", "cats sleep", "fish")
    assert file.read_bytes() == before
    assert np.array_equal(first.documents(["fish"]), again.documents(["fish"]))


@pytest.mark.parametrize("kind", MAKERS)
def test_a_pool_and_a_run_come_from_them(tmp_path: Path, kind: str) -> None:
    collection = small_collection(tmp_path / "coll")
    where = ["--set", f"encoder.name={kind}:{MAKERS[kind](tmp_path / 'tiny')}"]
    assert execute(["pool", str(collection.folder), *where, "--dry-run"]) == 0
    assert execute(["pool", str(collection.folder), *where]) == 0
    assert f" {kind}-tiny-" in collection.run("dense").read_text()


@pytest.mark.parametrize("kind", MAKERS)
def test_files_that_are_missing_or_damaged_are_named(tmp_path: Path, kind: str) -> None:
    with pytest.raises(Misconfigured, match="expected a folder with the encoder's files"):
        ready(kind, tmp_path / "nowhere", tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(Misconfigured, match=r"empty: no model\.|empty: no onnx/model"):
        ready(kind, tmp_path / "empty", tmp_path)
    folder = MAKERS[kind](tmp_path / "tiny")
    weights = next(path for path in folder.iterdir() if path.name.startswith("model."))
    weights.write_bytes(weights.read_bytes()[:50])
    with pytest.raises(Misconfigured, match="tiny: its files cannot be used") as bad:
        ready(kind, folder, tmp_path, "fish")
    assert bad.value.parameter == "encoder"


@pytest.mark.parametrize("text", ["", "{}", '{"pooling_mode_max_tokens": true}', "[1]", "{"])
def test_no_pooling_is_guessed(tmp_path: Path, text: str) -> None:
    folder = onnx_model(tmp_path / "tiny")
    pooling = folder / "1_Pooling" / "config.json"
    pooling.write_text(text) if text else pooling.unlink()
    with pytest.raises(Misconfigured):
        ready("fastembed", folder, tmp_path, "fish")


def test_an_address_does_not_go_with_files(tmp_path: Path) -> None:
    options = EncoderOptions(f"model2vec:{tmp_path}", "http://127.0.0.1:1/v1")
    with pytest.raises(Misuse):
        options.check()
