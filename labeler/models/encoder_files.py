"""Encoders whose files the user has, loaded by packages that are extras; nothing is downloaded."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from labeler.errors import LabelerError, Misconfigured
from labeler.files.boundary import problem_of
from labeler.files.cache import sha256_of
from labeler.files.home import expanded
from labeler.messages import missing_extra
from labeler.text.vectors import Encode

MODEL2VEC = missing_extra("model2vec", "encoders of this kind need")
FASTEMBED = missing_extra("fastembed", "encoders of this kind need")

ONNX = ("onnx/model.onnx", "model.onnx", "model_optimized.onnx", "onnx/model_quantized.onnx")
_LAYOUTS = ("model.safetensors", "0_StaticEmbedding/model.safetensors")
_TOKENIZER = "tokenizer.json"
_POOLING = "1_Pooling/config.json"
_MODES = {
    "pooling_mode_mean_tokens": "MEAN",
    "pooling_mode_cls_token": "CLS",
    "pooling_mode_lasttoken": "LAST_TOKEN",
}
_AT_ONCE = 64


class FileEncoder(NamedTuple):
    """An encoder in files: its name and its hash in one, and what encodes.

    `is_slow` is true where vectors are worth keeping.
    """

    id: str
    encode: Encode
    is_slow: bool


def load_model2vec(folder: Path) -> FileEncoder:
    """Static vectors as `model2vec` saves them."""
    if find_spec("model2vec") is None:
        raise Misconfigured(MODEL2VEC)
    first_file(first_file(folder, _LAYOUTS).parent, [_TOKENIZER])
    with as_files_of(folder):
        identity = id_of("model2vec", folder)
        from model2vec import StaticModel

        model = StaticModel.from_pretrained(str(folder), force_download=False)

    def encode(texts: Sequence[str]) -> Any:
        with as_files_of(folder):
            return model.encode(list(texts), use_multiprocessing=False).astype(np.float32)

    return FileEncoder(identity, encode, is_slow=False)


def load_fastembed(folder: Path) -> FileEncoder:
    """An ONNX encoder that `fastembed` runs, with the pooling that its folder names."""
    if find_spec("fastembed") is None:
        raise Misconfigured(FASTEMBED)
    weights = first_file(folder, ONNX)
    first_file(folder, [_TOKENIZER])
    pooling = _pooling(folder)
    with as_files_of(folder):
        identity = id_of("fastembed", folder)
        from fastembed import TextEmbedding
        from fastembed.common.model_description import ModelSource, PoolingType

        name = identity.lower()
        if not any(name == listed["model"] for listed in TextEmbedding.list_supported_models()):
            TextEmbedding.add_custom_model(
                name,
                PoolingType[pooling],
                normalization=True,
                sources=ModelSource(hf=name),
                dim=0,
                model_file=weights.relative_to(folder).as_posix(),
            )
        model = TextEmbedding(name, specific_model_path=str(folder), local_files_only=True)

    def encode(texts: Sequence[str]) -> Any:
        with as_files_of(folder):
            rows = list(model.embed(list(texts), batch_size=_AT_ONCE))
            return np.array(rows, dtype=np.float32)

    return FileEncoder(identity, encode, is_slow=True)


FROM_FILES: Mapping[str, Callable[[Path], FileEncoder]] = {
    "model2vec": load_model2vec,
    "fastembed": load_fastembed,
}
"""What loads an encoder from a folder, by the word before the colon of its name."""


def load_encoder(name: str) -> FileEncoder:
    """The encoder of a name such as `model2vec:FOLDER`."""
    kind, _, path = name.partition(":")
    folder = expanded(path)
    if not path or not folder.is_dir():
        problem = f"{path or 'nothing'}: expected a folder with the encoder's files"
        raise Misconfigured(f"{problem}, as {kind}:FOLDER", parameter="encoder")
    return FROM_FILES[kind](folder.resolve())


def first_file(folder: Path, names: Iterable[str]) -> Path:
    """The first of some files that a folder has."""
    files = list(names)
    path = next((folder / name for name in files if (folder / name).is_file()), None)
    if path is None:
        raise Misconfigured(f"{folder}: no {' or '.join(files)} in it", parameter="encoder")
    return path


def _pooling(folder: Path) -> str:
    """How the vectors of a text's tokens become one, as sentence-transformers write it down."""
    path = folder / _POOLING
    example = '{"pooling_mode_mean_tokens": true}, or with cls_token or lasttoken in its place'
    if not path.is_file():
        problem = f"{path} is not there, and nothing else says how tokens' vectors become one"
        raise Misconfigured(f"{problem}; write it: {example}", parameter="encoder")
    with as_files_of(folder):
        settings = json.loads(path.read_text(encoding="utf-8"))
        modes = [mode for name, mode in _MODES.items() if settings.get(name) is True]
    if len(modes) != 1:
        raise Misconfigured(f"{path}: expected one of {example}", parameter="encoder")
    return modes[0]


def id_of(kind: str, folder: Path) -> str:
    """The folder's name and a hash of all files in it and below, with their names.

    Which of them vectors depend on is the packages' to say: weights may lie in files beside the
    model, and several settings say where texts are cut.
    """
    digest = hashlib.sha256()
    for name, path in sorted(_files_below(folder).items()):
        line = f"{sha256_of(path)} {name}\n"
        digest.update(line.encode("utf-8", "surrogatepass"))
    return f"{kind}-{folder.name}-{digest.hexdigest()[:8]}".replace(" ", "_")


def _files_below(folder: Path) -> dict[str, Path]:
    """The files in a folder and below, by their paths in it; links are followed, once each.

    Hidden ones are left out: programs that download keep there when they did so.
    """
    files: dict[str, Path] = {}
    seen = {os.path.realpath(folder)}
    for top, folders, names in os.walk(folder, followlinks=True):
        paths = [Path(top, name) for name in names if not name.startswith(".")]
        files |= {p.relative_to(folder).as_posix(): p for p in paths if p.is_file()}
        inner = {name: os.path.realpath(Path(top, name)) for name in sorted(folders)}
        folders[:] = [n for n in inner if not n.startswith(".") and inner[n] not in seen]
        seen.update(inner[name] for name in folders)
    return files


@contextmanager
def as_files_of(folder: Path, parameter: str = "encoder") -> Iterator[None]:
    """Let whatever a package raises of an encoder's files be one line about the folder."""
    try:
        yield
    except LabelerError as error:
        error.parameter = parameter
        raise
    except Exception as error:  # packages in Rust and C++ raise their own, of no common root
        problem = f"its files cannot be used ({problem_of(error)})"
        raise Misconfigured(f"{folder}: {problem}", parameter=parameter) from error
