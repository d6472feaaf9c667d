"""Loops without an entry for Python: it calls none, which would end the process."""

import ast
from pathlib import Path

import engine

ROOT = Path(engine.__file__).parents[1]

WITHOUT = {"compiled_part", "compiled_uncounted", "declare_part"}


def list_decorators(function):
    """Names of decorators, of those with arguments too."""
    named = (getattr(each, "func", each) for each in function.decorator_list)
    return {each.id for each in named if isinstance(each, ast.Name)}


def is_compiled(function):
    """Whether Python runs machine code in its place."""
    names = list_decorators(function)
    return any(name.startswith(("compiled_", "declare_")) for name in names)


def list_parts(tree):
    """Loops of a module that have no entry."""
    functions = (each for each in tree.body if isinstance(each, ast.FunctionDef))
    return {each.name for each in functions if list_decorators(each) & WITHOUT}


def list_python_calls(tree, parts):
    """Calls of loops without an entry in what Python runs; `parts`: names by module."""
    known = list_parts(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            known |= {each.name for each in node.names} & parts.get(node.module, set())

    def walk_python(node):
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.FunctionDef) and is_compiled(inner):
                continue
            if isinstance(inner, ast.Call) and getattr(inner.func, "id", None) in known:
                yield inner.func.id
            yield from walk_python(inner)

    return list(walk_python(tree))


def test_python_calls_no_loop_without_an_entry():
    """In the packages and in the tests."""
    folders = ("data", "strategy", "engine", "optimizer", "tests")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    trees = {file: ast.parse(file.read_text()) for file in files}
    parts = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts): list_parts(tree)
        for file, tree in trees.items()
    }
    assert "fold_r" in parts["engine.accounts.cpu.folding"]
    called = {file: list_python_calls(tree, parts) for file, tree in trees.items()}
    assert {file: names for file, names in called.items() if names} == {}


def test_a_call_from_python_is_found():
    """And none of a loop, nor of another function of that name."""
    tree = ast.parse(
        "from rows import begin\n"
        "@declare_part('i8(i8)')\ndef fill(x):\n    begin(x)\n"
        "@declare_loop('i8(i8)')\ndef pass_by(x):\n    begin(x)\n"
        "def run(x):\n    fill(x)\n    return begin(x), other(x)\n"
    )
    assert list_python_calls(tree, {"rows": {"begin"}}) == ["fill", "begin"]
    assert list_python_calls(tree, {"rows": {"other"}}) == ["fill"]
