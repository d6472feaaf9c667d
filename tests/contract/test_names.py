"""Names: a function is a verb and a noun, a class name stands for one class."""

import ast
import re
from collections import defaultdict
from functools import cache

from tests.support.paths import ROOT

PARTICIPLE = re.compile(
    r"(?!embed|exceed|feed|need|proceed|seed|speed|breed)[a-z]{2,}ed"
    "|begun|bred|brought|built|chosen|done|drawn|driven|given|gone|grown|held|hidden|kept|laid|lost"
    "|made|met|paid|seen|sent|shown|sold|spent|stood|taken|thrown|told|understood|written"
)
"""A past participle that is all of a name."""

PREPOSITION = re.compile(
    r".+_(after|as|at|before|behind|beside|by|for|from|in|of|on|over|through|to|under|with)"
)

KNOWN = frozenset({
    "all_of", "any_of", "held", "joined", "jumps_of", "quality_of", "quirks_of", "trades_of",
    "charged", "scaled", "is_in", "is_before", "place_of", "_evaluate_before",
    "pick_of", "stop_at", "limit_at", "filled",
})  # fmt: skip
"""Words that people write in strategies and Python, and a few of before the rule."""

KNOWN_TWINS = frozenset({"Answer", "Entry", "Part", "Timing"})
"""Classes of the same name in two files, of before the rule."""


@cache
def list_definitions():
    """Functions and classes of the packages, with the file and line of each."""
    return [
        (node, f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
        for package in ("data", "strategy", "engine", "optimizer")
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]


def is_property(node):
    """Whether a function reads as a value, whose name is a noun or a participle."""
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def names_no_deed(name):
    """Whether a function's name is a bare past participle, or ends in a preposition."""
    return PARTICIPLE.fullmatch(name.strip("_")) or PREPOSITION.fullmatch(name)


def test_a_function_says_what_it_does():
    """`list_trades`, not `listed` or `trades_of`."""
    assert not [
        where
        for node, where in list_definitions()
        if not isinstance(node, ast.ClassDef)
        and names_no_deed(node.name)
        and node.name not in KNOWN
        and not is_property(node)
    ]


def test_a_class_name_stands_for_one_class():
    """A second one is private to its file, or has a name of its own."""
    by_name = defaultdict(list)
    for node, where in list_definitions():
        is_public = isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        if is_public and node.name not in KNOWN_TWINS:
            by_name[node.name].append(where)
    assert not [places for places in by_name.values() if len(places) > 1]
