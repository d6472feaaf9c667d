"""A long fetch that is killed again and again, and two processes that fetch at once."""

import signal
import time
from pathlib import Path

import pytest

from tests.support.commands import run, start
from tests.support.vendor import KEY, running_vendor

pytestmark = pytest.mark.slow

SYMBOL = "polygon:X:ADAUSD"
LONG = ("--from", "2022-01-01", "--to", "2023-01-01", "--timeframe", "1m")
HALF = ("--from", "2022-03-01", "--to", "2022-09-01", "--timeframe", "1m")
MINUTES = 365 * 1440
LARGEST_KB = 600_000


@pytest.fixture
def home(tmp_path):
    """A home in which a vendor on loopback is configured, and what a process needs to see it."""
    with running_vendor() as vendor:
        settings = tmp_path / "config" / "exhaustion-optimizer" / "vendors.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f'[polygon]\nurl = "{vendor.url}"\ncalls_per_minute = 100000\n')
        vendor.env = {
            "XDG_CONFIG_HOME": str(tmp_path / "config"),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "POLYGON_API_KEY": KEY,
        }
        yield vendor


def fetch(home, cwd, *arguments, cache):
    """A fetch as a process of its own, to its end."""
    return run("data", "fetch", SYMBOL, *arguments, "--cache", cache, "--json", cwd=cwd,
               env=home.env)  # fmt: skip


def measured_fetch(home, cwd, *arguments, cache):
    """A fetch, and its largest memory in KB as the system counts it for this program alone."""
    program = (
        "import sys; from optimizer.__main__ import main; code = main(sys.argv[1:])\n"
        "lines = open('/proc/self/status').read().splitlines()\n"
        "print(*[line.split()[1] for line in lines if line.startswith('VmHWM')], file=sys.stderr)\n"
        "sys.exit(code)"
    )
    process = run("data", "fetch", SYMBOL, *arguments, "--cache", cache, "--json", cwd=cwd,
                env=home.env, program=("-c", program))  # fmt: skip
    return process, int(process.err.split()[-1])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.timeout(1200)
def test_a_year_of_minutes_is_fetched_in_bounded_memory(home, tmp_path):
    """Half a million bars; a part of them is then there without a call."""
    whole, peak_kb = measured_fetch(home, tmp_path, *LONG, cache="whole")
    assert (whole.code, whole.json["bars"]) == (0, MINUTES), whole.err
    assert peak_kb < LARGEST_KB
    calls = len(home.calls)
    half = fetch(home, tmp_path, *HALF, cache="whole")
    assert (half.code, len(home.calls)) == (0, calls), half.err


def test_two_processes_fetch_a_series_once(home, tmp_path):
    """One asks the vendor and the other waits; both end well with the same bars."""
    span = ("--from", "2024-01-01", "--to", "2024-07-01", "--cache", "shared", "--json")
    command = ("data", "fetch", SYMBOL, *span)
    processes = [start(*command, cwd=tmp_path, env=home.env) for _ in range(2)]
    ends = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], ends
    assert ends[0][0] == ends[1][0]
    assert len(home.calls) == 6
    assert len(list((tmp_path / "shared").rglob("*.parquet"))) == 6


def test_a_fetch_that_is_stopped_keeps_what_it_has(home, tmp_path):
    """Ctrl-C ends with code 130; the next fetch asks for the rest only."""
    home.always = slow
    command = ("data", "fetch", SYMBOL, "--from", "2024-01-01", "--to", "2024-07-01")
    with start(*command, cwd=tmp_path, env=home.env) as process:
        while len(home.calls) < 3:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    home.always = None
    had = len(list(Path(home.env["XDG_CACHE_HOME"]).rglob("*.parquet")))
    assert had >= 1
    calls = len(home.calls)
    assert run(*command, cwd=tmp_path, env=home.env).code == 0
    assert len(home.calls) - calls == 6 - had


def slow(handler, reply):
    """A fault: the page takes a while."""
    time.sleep(0.2)
    handler.send_json(200, reply)
