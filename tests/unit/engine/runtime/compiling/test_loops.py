"""Compiled loops on disk: an edit compiles the loops that reach it, and no other."""

import inspect
import json
import os
import shutil
from contextlib import closing

import pytest

from tests.support.forking import Forking

FILES = {
    "values.py": '''
        import numpy as np
        STEP, TABLE, PAIR = 2.0, np.array([3.0, 5.0]), (7, 11)
    ''',
    "deep.py": '''
        from engine.runtime.compiling.loops import compiled_loop
        from own.values import PAIR

        @compiled_loop
        def deep(x, factor=2.0):
            """Said of it."""
            # A remark.
            return x * factor + PAIR[1]

        @compiled_loop
        def aside(x):
            return x + 1.0
    ''',
    "middle.py": '''
        import own.deep
        from engine.runtime.compiling.loops import compiled_part

        @compiled_part
        def middle(x):
            return own.deep.deep(x)
    ''',
    "language.py": '''
        from llvmlite import ir
        from numba import types
        from numba.extending import intrinsic, overload
        from own.helpers import number

        @intrinsic
        def shifted(typing, x):
            def code(context, builder, sig, args):
                return builder.fadd(args[0], number(4.0))
            return types.float64(types.float64), code

        def chosen(x):
            raise NotImplementedError

        @overload(chosen)
        def choose(x):
            return lambda x: x + 6.0
    ''',
    "helpers.py": '''
        from llvmlite import ir

        def number(value):
            return ir.Constant(ir.DoubleType(), value)
    ''',
    "records.py": '''
        from typing import NamedTuple

        class Prices(NamedTuple):
            """Of a bar."""
            low: float
            high: float

            def spread(self):
                return self.high - self.low
    ''',
    "top.py": '''
        import numpy as np
        from engine.runtime.compiling.loops import _compile_loop, compiled_loop
        from own.language import chosen, shifted
        from own.middle import middle
        from own.records import Prices
        from own.values import STEP, TABLE

        def adding(number):
            @compiled_loop
            def added(x):
                return x + number
            return added

        added = adding(1.0)

        @compiled_loop
        def calls(x):
            return middle(x) + STEP

        @compiled_loop
        def reads_table(k):
            return TABLE[k]

        @compiled_loop
        def says(x):
            return shifted(x)

        @compiled_loop
        def overloads(x):
            return chosen(x)

        @compiled_loop
        def lowest(prices):
            return prices.low

        @compiled_loop
        def makes(x):
            return Prices(x, -x).high

        def divides(x):
            return 1.0 / x
        divides = _compile_loop(divides, nogil=False)

        def found():
            prices = Prices(1.0, 9.0)
            return {"calls": calls(1.0), "reads_table": reads_table(1), "says": says(1.0),
                    "overloads": overloads(1.0), "lowest": lowest(prices), "makes": makes(4.0),
                    "added": added(1.0), "divides": divides(4.0)}
    ''',
}  # fmt: skip

ASK = """
import json, sys
from numba.core.dispatcher import Dispatcher
from own import top
found = top.found()
compiled = [name for module in list(sys.modules.values()) if module.__name__.startswith("own")
            for name, value in vars(module).items()
            if isinstance(value, Dispatcher) and value.stats.cache_misses]
print(json.dumps([found, sorted(set(compiled))]))
"""

FOUND = {"calls": 15.0, "reads_table": 5.0, "says": 5.0, "overloads": 7.0, "lowest": 1.0,
         "makes": -4.0, "added": 2.0, "divides": 0.25}  # fmt: skip

UNREACHED = (
    ("deep.py", "Said of it.", "Said of it in more words,\n    and lines."),
    ("deep.py", "# A remark.", "# Another remark."),
    ("deep.py", "return x + 1.0", "return x + 2.0"),
    ("middle.py", "import own.deep", "\n\n# Moved.\nimport own.deep"),
    ("records.py", "return self.high - self.low", "return self.low - self.high"),
    ("records.py", '"""Of a bar."""', ""),
    ("values.py", "STEP, TABLE", "OTHER = 8.0\nSTEP, TABLE"),
    ("helpers.py", "def number", "def other():\n    return 3\n\ndef number"),
    ("top.py", "@compiled_loop\ndef says", "def others():\n    pass\n\n@compiled_loop\ndef says"),
)  # fmt: skip

REACHED = (
    (
        ("values.py", "2.0, np", "3.0, np", {"calls": 16.0}, []),
        ("values.py", "5.0]", "6.0]", {"reads_table": 6.0}, []),
        ("language.py", "fadd", "fsub", {"says": -3.0}, []),
        ("language.py", "+ 6.0", "+ 8.0", {"overloads": 9.0}, []),
        ("records.py", "low: float\n    high: float", "high: float\n    low: float",
         {"lowest": 9.0, "makes": 4.0}, []),
        ("top.py", "adding(1.0)", "adding(3.0)", {"added": 4.0}, []),
        ("top.py", "nogil=False", "nogil=True", {"divides": 0.25}, []),
    ),
    (
        ("values.py", "(7, 11)", "(7, 12)", {"calls": 16.0}, ["deep", "middle"]),
        ("values.py", "[3.0, 5.0]", "[3, 6]", {"reads_table": 6}, []),
        ("helpers.py", "(), value", "(), value + 1", {"says": 6.0}, []),
    ),
    (("deep.py", "x * factor", "x / factor", {"calls": 13.5}, ["deep", "middle"]),),
    (("deep.py", "=2.0", "=3.0", {"calls": 16.0}, ["deep", "middle"]),),
    (
        ("top.py", "from own.middle import middle", "from own.deep import aside as middle",
         {"calls": 4.0}, ["aside", "middle"]),
    ),
)  # fmt: skip
"""Edits that are made together: what each changes of what is found, and other loops that reach it.

Numbers, arrays and their types, operations and their helpers, fields, what is enclosed, options,
functions, defaults, and a name that means something else.
"""


def write_package(folder):
    """The package of loops."""
    (folder / "own").mkdir()
    (folder / "own" / "__init__.py").write_text("")
    for name, text in FILES.items():
        (folder / "own" / name).write_text(inspect.cleandoc(text) + "\n")


def edit(folder, name, before, after):
    """Change one place of a file."""
    file = folder / "own" / name
    text = file.read_text()
    assert text.count(before) == 1, before
    file.write_text(text.replace(before, after))


COMPILER = """
import numba
import engine.runtime.compiling.forms
# What a first compilation loads.
numba.njit(lambda x: x + 1.0)(1.0)
"""


def without_cache_dir():
    """The environment of a person who keeps loops beside their packages."""
    return {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}


@pytest.fixture(scope="module")
def ask():
    """What a program finds in a folder, by default which loops it compiled."""
    with closing(Forking(COMPILER, without_cache_dir())) as compiler:
        yield lambda folder, code=ASK: json.loads(compiler.run(folder, code, str(folder)))


@pytest.fixture(scope="module")
def kept_package(ask, tmp_path_factory):
    """A package whose loops were compiled by another process."""
    folder = tmp_path_factory.mktemp("kept")
    write_package(folder)
    answer, compiled = ask(folder)
    assert answer == FOUND
    assert set(compiled) >= {*FOUND, "deep", "middle"}
    return folder


@pytest.fixture
def copied_package(kept_package, tmp_path):
    """The same with what was compiled, to be edited."""
    shutil.copytree(kept_package, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.mark.slow
def test_what_is_not_reached_compiles_nothing(ask, copied_package):
    """Docstrings, comments, lines, and what stands beside the loops."""
    for change in UNREACHED:
        edit(copied_package, *change)
    assert ask(copied_package) == [FOUND, []]


@pytest.mark.slow
def test_what_is_reached_is_compiled_anew(ask, kept_package, tmp_path):
    """Exactly the loops that reach it, by numba's own account."""
    for number, changes in enumerate(REACHED):
        folder = tmp_path / str(number)
        shutil.copytree(kept_package, folder)
        expected, loops = dict(FOUND), set()
        for name, before, after, found, others in changes:
            edit(folder, name, before, after)
            expected |= found
            loops |= {*found, *others}
        assert ask(folder) == [expected, sorted(loops)], changes
        if number == 0:
            assert ask(folder) == [expected, []]
