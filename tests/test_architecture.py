"""The laws of the house, checked on the house itself."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("web", "evaluation", "workers", "search", "encoders", "mappings")
MODULES = ("web.cli.main", "web.api.search", "web.pages.routes", "search.bootstrap", "workers.indexing.ingest")
SOURCES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


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


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_fits_in_the_head(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 400
    if path.name == "__init__.py":
        assert not text.strip() or path.parent.name == "web"
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno < 60, f"{node.name} is long"
            arguments = node.args
            # A command's options come as keywords: click hands them over by name.
            assert arguments.kwarg is None or "commands" in path.parts, f"{node.name} tunnels keywords"
            assert len(arguments.args) + len(arguments.kwonlyargs) <= 8, f"{node.name} takes too much"


LIBRARIES = {
    "lxml": ("mappings/formats/",),
    "tantivy": ("search/engines/embedded/",),
    "sqlite3": ("search/engines/embedded/", "encoders/cache.py", "evaluation/score_cache.py"),
    # The benches compare our bulk writer with the library's own.
    "opensearchpy": ("search/engines/opensearch/", "evaluation/bench/bulk.py", "evaluation/bench/ingest.py"),
    "celery": ("workers/queueing/",),
    "redis": ("workers/queueing/queue.py",),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_only_its_own_folder_imports_a_library(library):
    users = {
        str(path.relative_to(ROOT))
        for path in SOURCES
        for node in ast.walk(tree(path))
        if (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == library)
        or (isinstance(node, ast.Import) and any(item.name.split(".")[0] == library for item in node.names))
    }
    assert users
    assert [user for user in users if not user.startswith(LIBRARIES[library])] == []
