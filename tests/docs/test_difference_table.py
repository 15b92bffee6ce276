"""The table of differences from NVIDIA's programs (docs/differences.md) and the tests for its rows
(pytest.mark.difference): each row has a test, and each mark a row."""

import ast
import collections
import pathlib
import re

import markdown

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "differences.md"
ROWS = markdown.rows(PAGE.read_text())
NAME = re.compile(r"(config|devices|health|cdi|labels|manager|mps|process|chart)-[a-z0-9-]+")


def marks(path: pathlib.Path):
    """The names in the marks of a file, with the test of each. A mark may name them by a table of the file."""
    tree = ast.parse(path.read_text())
    tables = {
        target.id: [one.value for one in ast.walk(node.value) if isinstance(one, ast.Constant)]
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for test in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        for mark in test.decorator_list:
            if not isinstance(mark, ast.Call) or ast.unparse(mark.func) not in ("difference", "pytest.mark.difference"):
                continue
            for argument in mark.args:
                words = (
                    [argument.value]
                    if isinstance(argument, ast.Constant)
                    else [word for name in ast.walk(argument) if isinstance(name, ast.Name) for word in tables.get(name.id, [])]
                )
                for word in words:
                    if isinstance(word, str) and (isinstance(argument, ast.Constant) or NAME.fullmatch(word)):
                        yield word, f"{path.relative_to(ROOT)}::{test.name}"


def shown() -> dict:
    found = collections.defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name, test in marks(path):
            found[name].append(test)
    return found


def test_each_row_has_a_name_of_its_own_and_both_sides():
    names = [row[0] for row in ROWS]
    assert len(names) > 60
    assert [name for name in names if not NAME.fullmatch(name)] == []
    assert [name for name, count in collections.Counter(names).items() if count > 1] == []
    for row in ROWS:
        assert len(row) == 3, f"{row[0]}: {len(row)} cells"
        assert row[1] and row[2] and row[1] != row[2], row[0]


def test_each_row_has_a_test():
    tests = shown()
    assert [row[0] for row in ROWS if row[0] not in tests] == []


def test_each_marked_test_has_its_row():
    rows = {row[0] for row in ROWS}
    assert {name: tests for name, tests in shown().items() if name not in rows} == {}


def test_it_is_the_only_such_table():
    head = re.compile(r"^\|[^\n]*\bNVIDIA[^\n]*v0\.20", re.M)
    pages = [page for page in (ROOT / "docs").rglob("*.md") if head.search(page.read_text())]
    assert pages == [PAGE]
