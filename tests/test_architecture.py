"""The laws of the house, checked on the house itself.

A test of a law compares what breaks it with what is known to break it: a new offender fails, and so does an entry of
`KNOWN` that is not needed any more.
"""

import ast
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("web", "evaluation", "workers", "search", "encoders", "mappings")
MODULES = ("web.cli.main", "web.api.search", "web.pages.routes", "search.bootstrap", "workers.indexing.ingest")
SOURCES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
TESTS = sorted((ROOT / "tests").rglob("*.py"))
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Limits:
    """How many lines a file may have, how many the body of a function without its docstring, and its parameters."""

    file: int
    body: int
    parameters: int = 7


LIMITS = {"sources": (SOURCES, Limits(300, 40)), "tests": (TESTS, Limits(450, 60))}
MODULES_OF_A_FOLDER = 14
FAMILIES = (
    "encoders/labels/tasks",
    "evaluation/bench",
    "evaluation/suites",
    "mappings/datasets",
    "mappings/formats",
    "web/cli/commands",
)
"""Folders of siblings of one kind, of which there may be any number."""

KNOWN: dict[str, set[str]] = {
    "files": set(),
    "bodies": set(),
    # A command's options come one by one.
    "parameters": {"web/cli/commands/ingest.py: ingest"},
    "folders": set(),
    "classes": set(),
}
"""What is allowed to break a law; an entry that no longer does fails the test."""


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def nodes(path: Path) -> list[ast.AST]:
    """The functions, classes and imports of a module, wherever they stand in it."""
    every = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [node for node in every if isinstance(node, Function | ast.ClassDef | ast.Import | ast.ImportFrom)]


def functions(paths: Iterable[Path]) -> Iterator[tuple[str, Function]]:
    """("folder/file.py: name", node) of every function and method."""
    for path in paths:
        for node in nodes(path):
            if isinstance(node, Function):
                yield f"{name_of(path)}: {node.name}", node


def body_lines(node: Function) -> int:
    body = node.body[ast.get_docstring(node, clean=False) is not None :]
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def parameters(node: Function) -> int:
    """How many parameters a caller has to think of."""
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return sum(argument.arg not in ("self", "cls") for argument in every)


def known(law: str, kind: str) -> set[str]:
    """The offenders against a law that are to be mended, among the sources or the tests."""
    return {item for item in KNOWN[law] if item.startswith("tests/") == (kind == "tests")}


def fresh(code: str) -> str:
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return ran.stdout.strip()


def test_imports_go_down_only():
    # In a process of its own: it silences the loggers that are there.
    code = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_query_path_never_loads_torch():
    heavy = "[name for name in ('torch', 'transformers') if name in sys.modules]"
    loaded = fresh(f"import sys\nfor module in {MODULES}:\n    __import__(module)\n    print(module, *{heavy})")
    assert loaded.splitlines() == list(MODULES)


def test_the_command_line_starts_light():
    heavy = "('flask', 'numpy', 'tantivy', 'onnxruntime', 'pydantic', 'rich')"
    assert fresh(f"import sys, web.cli.main; print([name for name in {heavy} if name in sys.modules])") == "[]"


@pytest.mark.parametrize("kind", LIMITS)
def test_files_are_short(kind):
    paths, limits = LIMITS[kind]
    long = {name_of(path) for path in paths if path.read_text(encoding="utf-8").count("\n") > limits.file}
    assert long == known("files", kind)


@pytest.mark.parametrize("kind", LIMITS)
def test_functions_are_short(kind):
    paths, limits = LIMITS[kind]
    assert {name for name, node in functions(paths) if body_lines(node) > limits.body} == known("bodies", kind)


@pytest.mark.parametrize("kind", LIMITS)
def test_functions_take_few_parameters(kind):
    paths, limits = LIMITS[kind]
    many = {name for name, node in functions(paths) if parameters(node) > limits.parameters}
    assert many == known("parameters", kind)


def test_no_function_takes_any_keywords():
    # A command's options come as keywords: click hands them over by name.
    takers = {name for name, node in functions(SOURCES) if node.args.kwarg}
    assert {name for name in takers if "/commands/" not in name} == set()


def test_folders_are_small():
    modules = Counter(name_of(path.parent) for path in SOURCES if path.name != "__init__.py")
    large = {folder for folder, count in modules.items() if count > MODULES_OF_A_FOLDER}
    assert large - set(FAMILIES) == KNOWN["folders"]


def test_packages_are_empty_but_for_their_modules():
    written = {name_of(path) for path in SOURCES if path.name == "__init__.py" and path.read_text().strip()}
    assert written == {"web/__init__.py"}


def test_a_class_name_means_one_thing():
    places = defaultdict(set)
    for path in SOURCES:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].add(name_of(path))
    assert {name for name, paths in places.items() if len(paths) > 1} == KNOWN["classes"]


LIBRARIES = {
    "lxml": ("mappings/formats/",),
    "tantivy": ("search/engines/embedded/",),
    "sqlite3": ("search/engines/embedded/", "encoders/cache.py", "evaluation/score_cache.py"),
    # The benches compare our bulk writer with the library's own.
    "opensearchpy": ("search/engines/opensearch/", "evaluation/bench/bulk.py", "evaluation/bench/ingest.py"),
    "celery": ("workers/queueing/",),
    "redis": ("workers/queueing/queue.py",),
    "opentelemetry": ("search/tracing/otlp.py",),
}


def imports(path: Path) -> set[str]:
    """The first names of everything that a module imports."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.Import):
            found.update(item.name.split(".")[0] for item in node.names)
    return found


@pytest.mark.parametrize("library", LIBRARIES)
def test_only_its_own_folder_imports_a_library(library):
    users = {name_of(path) for path in SOURCES if library in imports(path)}
    assert users
    assert [user for user in users if not user.startswith(LIBRARIES[library])] == []
