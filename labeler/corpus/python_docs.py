"""Documents that are on every Python machine: the language's reference and its library's docs.

The reference topics are those of `help()`; the library's are the documentation strings of its
public modules, read from their sources without importing any.
"""

from __future__ import annotations

import ast
import inspect
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from labeler.errors import Misuse
from labeler.files.atomic import replacing

MODULES = """
argparse bisect calendar cmd codecs collections contextlib copy csv dataclasses datetime
difflib email enum fileinput fnmatch fractions functools getpass gettext glob graphlib gzip
hashlib heapq http.cookies http.server imaplib inspect ipaddress json logging lzma mailbox
mimetypes optparse os pathlib pickle pprint queue random re sched secrets selectors shelve
shlex shutil smtplib socket socketserver ssl stat statistics string subprocess tarfile
tempfile textwrap threading timeit tokenize traceback types typing unicodedata unittest
urllib.parse urllib.request uuid warnings wave weakref zipfile zoneinfo
"""  # eighty names read better without eighty quotes
_MIN_CHARACTERS = 200


def _topics() -> Iterator[tuple[str, str]]:
    """Yield the reference topics, without those that are part of a longer one."""
    try:
        from pydoc_data.topics import topics
    except ImportError:  # some distributions leave it out; the modules' strings are enough
        return
    for name, text in sorted(topics.items()):
        middle = text[len(text) // 2 :][:200]
        longer = (o for key, o in topics.items() if (len(o), key) > (len(text), name))
        if not any(middle in text for text in longer):
            yield f"reference/{name}.rst", text.strip() + "\n"


def _modules() -> Iterator[tuple[str, str]]:
    library = Path(sysconfig.get_path("stdlib"))
    for name in MODULES.split():
        path = library.joinpath(*name.split("."))
        source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if name.split(".")[0] in sys.stdlib_module_names and source.is_file():
            text = "".join(_described(name, source)).removesuffix("\n")
            if len(text) > _MIN_CHARACTERS:
                yield f"library/{name}.rst", text


def _described(name: str, source: Path) -> Iterator[str]:
    """Yield the documentation strings of a module and its public members, each under a heading."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    yield _section(f"The {name} module", "*", tree)
    members = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef))
    for node in members:
        is_long = len(ast.get_docstring(node) or "") > _MIN_CHARACTERS
        if is_long and not node.name.startswith("_"):
            yield _section(f"{name}.{node.name}", "=", node)


def _section(heading: str, mark: str, node: ast.Module | ast.FunctionDef | ast.ClassDef) -> str:
    text = inspect.cleandoc(ast.get_docstring(node) or "")
    return f"{heading}\n{mark * len(heading)}\n\n{text}\n\n"


def write_python_documents(folder: Path, *, force: bool = False) -> Path:
    """Write this Python's documentation as files in a folder, which is returned.

    A file that holds something else is replaced with `force` alone.
    """
    documents = dict([*_topics(), *_modules()])
    for name, text in documents.items():
        path = folder / name
        if not force and path.exists() and path.read_bytes() != text.encode():
            problem = "is not of the demo; choose another directory, or set this to replace it"
            raise Misuse(f"{path} {problem}", parameter="force")
    for name, text in documents.items():
        with replacing(folder / name) as out:
            out.write(text)
    return folder
