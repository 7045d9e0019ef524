"""A PostgreSQL of the tests' own, on loopback, from the programs that the machine has."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
NONE = "no PostgreSQL here: apt-get install postgresql"


def programs() -> Path | None:
    """The folder of PostgreSQL's programs; None where there are none."""
    on_path = shutil.which("initdb")
    folders = [*([Path(on_path).parent] if on_path else []), *FOLDERS]
    return folders[-1] if folders else None


@dataclass
class PostgresServer:
    """A server that is started and stopped at will; `database` makes a new one for each test."""

    folder: Path
    bin: Path
    port: int
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def run(self, program: str, *arguments: str) -> None:
        command = [str(self.bin / program), *arguments]
        user = {"user": "postgres"} if os.getuid() == 0 else {}
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False, **user)
        assert done.returncode == 0, done.stderr

    def make(self) -> None:
        how = ["-A", "trust", "-U", "labeler", "--no-sync", "-E", "UTF8", "--locale", "C"]
        self.run("initdb", "-D", f"{self.folder}/data", *how)

    def start(self) -> None:
        listen = f"-k {self.folder} -c listen_addresses=127.0.0.1 -p {self.port}"
        listen += " -c dynamic_shared_memory_type=mmap"  # in its folder, which goes with it
        log = f"{self.folder}/log"
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-o", listen, "-l", log, "-w", "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")

    def do(self, *statements: str, database: str = "postgres") -> list[list[Any]]:
        """The rows of the last of these statements."""
        from pg8000.native import Connection

        rows: list[list[Any]] = []
        with closing(Connection("labeler", "127.0.0.1", database, self.port)) as connection:
            for statement in statements:
                rows = connection.run(statement) or []
        return rows

    def encrypt(self) -> Path:
        """From the next start on, offer TLS, for `localhost`; the file of its certificate."""
        data = self.folder / "data"
        how = [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
        ]
        names = ["-addext", "subjectAltName=DNS:localhost"]
        key, certificate = data / "server.key", data / "server.crt"
        files = ["-keyout", str(key), "-out", str(certificate)]
        subprocess.run([*how, *names, *files], check=True, capture_output=True)
        for path in (key, certificate):
            if os.getuid() == 0:
                shutil.chown(path, "postgres", "postgres")
        key.chmod(0o600)
        with (data / "postgresql.conf").open("a") as settings:
            settings.write("ssl = on\n")
        return certificate

    def ask_password_of(self, user: str) -> None:
        """Let a user in with a password alone."""
        rules = self.folder / "data" / "pg_hba.conf"
        own = f"host all {user} 127.0.0.1/32 scram-sha-256\n"
        rules.write_text(own + rules.read_text())
        self.do("SELECT pg_reload_conf()")

    def database(self, more: str = "") -> str:
        name = f"db{next(self.numbers)}"
        self.do(f"CREATE DATABASE {name} {more}")
        return f"postgresql://labeler@127.0.0.1:{self.port}/{name}"


@contextmanager
def postgres_server(found: Path | None = None, why_none: str = NONE) -> Iterator[PostgresServer]:
    """A server of these programs, or the machine's, as long as the block runs; else skips."""
    if found is None and why_none == NONE:
        found = programs()
    if found is None:
        pytest.skip(why_none)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    if os.getuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    server = PostgresServer(folder, found, port)
    try:
        server.make()
        server.start()
        yield server
    finally:
        subprocess.run(["pkill", "-9", "-f", f"{folder}/data"], check=False)
        shutil.rmtree(folder, ignore_errors=True)
