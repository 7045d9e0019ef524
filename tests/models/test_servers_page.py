"""The page that lists what each server is sent."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("servers", ROOT / "scripts" / "servers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    earlier = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = earlier
    return module


def test_the_table_of_servers_is_fresh() -> None:
    servers = script()
    page = servers.PAGE.read_text(encoding="utf-8")
    assert servers.page_with_table(page) == page, "python scripts/servers.py"
