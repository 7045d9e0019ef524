"""What comes of judging with other people's servers, in each wire format that they speak.

    PYTHONPATH=. python scripts/try_servers.py [--litellm V/bin/litellm] [--aimock DIR/dist/cli.js]

llama.cpp's server (the extra `local`) serves a model that knows nothing (tests/tiny_model.py),
which answers what the schema asks for. LiteLLM's proxy stands in front of it. aimock (npm) answers
as OpenAI, Anthropic and Ollama do. Each judges the four pairs of a small collection.
"""

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import urlopen

from harness import parser

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from tiny_model import write_tiny_model  # noqa: E402  the path comes first

from labeler.models.local.serve import serving  # noqa: E402  the same
from labeler.testing import small_collection  # noqa: E402  the same

FORMATS = ("chat", "responses", "messages", "ollama")
LITELLM_PORT, AIMOCK_PORT = 4801, 4802
SECONDS = 120.0
PROXY_KEY = f"sk-{secrets.token_hex(16)}"
CONFIG = """
model_list:
  - model_name: tiny
    litellm_params: {{ model: openai/tiny, api_base: "{address}", api_key: "{key}" }}
litellm_settings: {{ drop_params: true }}
"""
FIXTURES = {
    "fixtures": [{"match": {"userMessage": "the"}, "response": {"content": '{"grade": 2}'}}]
}


class Place(NamedTuple):
    """A server, where it is, and the key that it wants."""

    name: str
    address: str
    key: str
    model: str = "tiny"


@contextmanager
def started(command: list[str], check: str, log: Path) -> Iterator[None]:
    """A process that answers at `check`, as long as the block runs."""
    more = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": PROXY_KEY}
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, **more})
        try:
            end = time.monotonic() + SECONDS
            while not answers(check):
                if process.poll() is not None or time.monotonic() > end:
                    raise SystemExit(f"{command[0]} did not start: {log.read_text()[-2000:]}")
                time.sleep(0.5)
            yield
        finally:
            process.terminate()
            process.wait()


def answers(url: str) -> bool:
    """Whether anything answers there."""
    try:
        urlopen(url, timeout=2).close()
    except HTTPError:
        return True
    except OSError:
        return False
    return True


def judged(place: Place, api: str, folder: Path) -> tuple[int, str]:
    """How many of four pairs got a grade, and what was said last where not all did."""
    folder.mkdir()
    small_collection(folder / "c")
    (folder / "assessors").mkdir()
    lines = [f'model = "{place.model}"', f'api = "{api}"', 'prompt = "terse"']
    (folder / "assessors" / "a.toml").write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "labeler", "judge", "c", "--assessor", "a", "--as", "x"]
    environment = {**os.environ, "OPENAI_API_KEY": place.key, "PYTHONPATH": str(ROOT)}
    environment["OPENAI_BASE_URL"] = place.address
    done = subprocess.run(
        [*command, "--quiet", "--json", "--set", "model.timeout=60"],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=False,
    )
    text = done.stdout.decode().strip()
    count = json.loads(text).get("judged", 0) if text.startswith("{") else 0
    last = done.stderr.decode().strip().split("\n")[-1]
    return count, "" if count == 4 else " ".join(last.split())[:200]


def show(place: Place, folder: Path) -> None:
    """A row for each wire format."""
    for api in FORMATS:
        count, last = judged(place, api, folder / f"{place.name}-{api}".replace(" ", "-"))
        print(f"| {place.name} | {api} | {count} of 4 | {last} |", flush=True)


def main() -> None:
    """Try all servers that are there."""
    made = parser(__doc__)
    made.add_argument("--litellm")
    made.add_argument("--aimock")
    options = made.parse_args()
    print("| server | wire format | judged | what it said |")
    print("|---|---|---|---|")
    with TemporaryDirectory() as name:
        folder = Path(name)
        tiny = write_tiny_model(folder / "tiny.gguf")
        with serving(tiny) as served:
            show(Place("llama.cpp", served.base_url, served.api_key), folder)
            if options.litellm:
                config = folder / "litellm.yaml"
                config.write_text(CONFIG.format(address=served.base_url, key=served.api_key))
                command = [options.litellm, "--config", str(config), "--port", str(LITELLM_PORT)]
                address = f"http://127.0.0.1:{LITELLM_PORT}"
                with started(command, f"{address}/health/liveliness", folder / "litellm.log"):
                    show(Place("LiteLLM", f"{address}/v1", PROXY_KEY), folder)
        if options.aimock:
            fixtures = folder / "fixtures.json"
            fixtures.write_text(json.dumps(FIXTURES))
            address = f"http://127.0.0.1:{AIMOCK_PORT}"
            command = ["node", options.aimock, "-p", str(AIMOCK_PORT), "-f", str(fixtures)]
            with started(command, f"{address}/v1/models", folder / "aimock.log"):
                show(Place("aimock", f"{address}/v1", "any"), folder)


if __name__ == "__main__":
    main()
