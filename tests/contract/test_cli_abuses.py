"""What people do by accident ends in one line: files of our names, long names, early signals."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.support.commands import SMALL, run, start, write_market
from tests.support.paths import FINDS, ROOT

pytestmark = pytest.mark.slow

FOREIGN = 'raise AssertionError("a file of the person was imported")\n'


CHILD = f"""
import subprocess, sys
sys.path[:0] = [{str(ROOT)!r}, ""]
from optimizer.processes import child_environment
program = "import signal, mine; print(mine.x, hasattr(signal, 'SIGINT'))"
subprocess.run([sys.executable, "-P", "-c", program], env=child_environment(), check=True)
"""

STARTED = """import sys
print(*sys.modules)
"""


def test_no_module_of_the_folder_is_ever_imported(tmp_path):
    """Every module of Python that its own start leaves open is Python's, not the folder's.

    Libraries are those that are installed, and ours are ours.
    """
    package = tmp_path / "plain"
    package.mkdir()
    (package / "__init__.py").write_text(STARTED)
    (package / "__main__.py").write_text("")
    begun = run(cwd=tmp_path, program=("-m", "plain")).out.split()
    place = tmp_path / "received"
    place.mkdir()
    ours = {"data", "strategy", "engine"}
    names = {*sys.stdlib_module_names, *ours, "numpy", "typer", "sitecustomize"}
    for name in names.difference(begun, sys.builtin_module_names):
        (place / f"{name}.py").write_text(FOREIGN)
    for program in (("-m", "optimizer"), ("-um", "optimizer"), ("-moptimizer",)):
        process = run("strategies", "list", cwd=place, program=program)
        assert (process.code, process.err) == (0, "")
        assert "seller_exhaustion" in process.out


def test_children_look_in_their_folder_last(tmp_path):
    """Workers of a process that looks there first find libraries, and then what lies there."""
    (tmp_path / "signal.py").write_text(FOREIGN)
    (tmp_path / "mine.py").write_text("x = 5\n")
    process = run(cwd=tmp_path, program=("-Ic", CHILD))
    assert process.out.split() == ["5", "True"], process.err


def test_they_are_not_taken_where_the_package_is_imported(tmp_path):
    """A notebook beside a data.py has our data, and its own files of other names."""
    (tmp_path / "data.py").write_text(FOREIGN)
    (tmp_path / "mine.py").write_text("x = 5\n")
    program = ("-c", "import optimizer, mine, data; print(mine.x, data.__file__)")
    process = run(cwd=tmp_path, program=program)
    assert process.out.split() == ["5", str(ROOT / "data" / "__init__.py")], process.err


def test_a_program_that_begins_anew_finds_ours_too(tmp_path):
    """The restart after a lost GPU is another program in the same folder."""
    (tmp_path / "strategy.py").write_text(FOREIGN)
    program = (
        "-c",
        "import sys; sys.path.insert(0, sys.argv[1]); from optimizer.cli import restart;"
        "sys.orig_argv = ['python', '-m', 'optimizer', 'x']; sys.argv = ['m', 'x'];"
        "restart._replace_program(['strategies', 'list'], {})",
    )
    process = run(ROOT, cwd=tmp_path, program=program)
    assert (process.code, process.err) == (0, "")
    assert "seller_exhaustion" in process.out


LONG = "a" * 300
NAMED = [
    "evolve --data csv:{}.csv",
    "evolve --config {}",
    "evolve --runs {}",
    "evolve --strategy {}",
    "evolve --warm-start {}",
    "evolve --warm-start {}.json",
    "evolve --resume {}",
    "evolve --resume x/{}",
    "evolve --objectives {}",
    "runs show {}",
    "runs list --runs {}",
    "runs delete x/{}",
    "report {}",
    "backtest --genes {}",
    "backtest --run {} --member 1",
    "backtest --trades {}.csv",
    "backtest --trades x/{}/y.csv",
    "data list --cache {}",
    "data show {}",
    "data import bars.csv --into {}",
]


@pytest.mark.parametrize("length", [300, 5000])
@pytest.mark.parametrize("flags", NAMED)
def test_names_that_no_file_has_are_refused(command, tmp_path, flags, length):
    """One short line, and never a defect of ours."""
    market = write_market(tmp_path / "bars.csv")
    words = flags.format("a" * length).split()
    if words[0] in ("evolve", "backtest") and "--data" not in words and "run" not in flags:
        words += ["--data", market]
    outcome = command(*words)
    assert outcome.code in (2, 4), outcome
    assert "defect" not in outcome.error
    assert len(outcome.error) < 700, outcome.error


@pytest.mark.parametrize("wait", [0.1, 0.2, 0.3, 0.5])
def test_an_early_signal_leaves_no_traceback(tmp_path, wait):
    """While libraries are loaded there is no handler yet."""
    ready = tmp_path / "ready"
    # Python's own beginning is none of ours: the signal comes after it.
    beginning = f"import time; open({str(ready)!r}, 'w').close(); __import__('runpy')"
    (tmp_path / "sitecustomize.py").write_text(beginning)
    # So long that it has not ended when a busy machine sends the signal late.
    flags = [*SMALL, "--generations", "100000"]
    env = {"PYTHONPATH": f"{tmp_path}:{FINDS['PYTHONPATH']}"}
    with start("evolve", *flags, cwd=tmp_path, env=env) as process:
        while not ready.exists():
            time.sleep(0.005)
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert "Traceback" not in err, err
    assert process.returncode in (130, -signal.SIGINT), err


def test_a_hang_up_that_is_ignored_ends_nothing(tmp_path):
    """As with nohup."""
    flags = ("evolve", "--data", write_market(tmp_path / "bars.csv"), *SMALL)
    command = [sys.executable, "-m", "optimizer", *map(str, flags)]
    with subprocess.Popen(
        ["nohup", *command],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **FINDS},
    ) as process:
        assert process.stderr is not None
        while "generation " not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=120)
    assert process.returncode == 0
