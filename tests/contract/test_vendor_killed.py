"""A long fetch that is killed again and again, and two processes that fetch at once."""

import random
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.support.commands import run, start
from tests.support.exchange import START_MS, FakeExchange, serve_exchange
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
def test_a_year_of_minutes_survives_kills(home, tmp_path, capsys, kills):
    """Half a million bars in bounded memory; half of them have one hash, killed or unbroken."""
    began = time.monotonic()
    whole, peak_kb = measured_fetch(home, tmp_path, *LONG, cache="whole")
    seconds = time.monotonic() - began
    assert whole.code == 0, whole.err
    assert whole.json["bars"] == MINUTES
    calls = len(home.calls)
    assert peak_kb < LARGEST_KB
    unbroken = fetch(home, tmp_path, *HALF, cache="whole")
    assert (unbroken.code, len(home.calls)) == (0, calls), unbroken.err
    moments = random.Random(7)
    killed = parts_left = 0
    while killed < kills:
        command = ("data", "fetch", SYMBOL, *HALF, "--cache", "killed")
        asked = len(home.calls) + killed % 3
        with start(*command, cwd=tmp_path, env=home.env) as process:
            while len(home.calls) <= asked and process.poll() is None:
                time.sleep(0.01)
            time.sleep(moments.uniform(0.0, 0.5))
            process.send_signal(signal.SIGKILL)
            process.communicate()
        if process.returncode == 0:
            shutil.rmtree(tmp_path / "killed")
            continue
        assert process.returncode == -signal.SIGKILL
        killed += 1
        parts_left = max(parts_left, len(list((tmp_path / "killed").rglob("*.parquet"))))
    assert parts_left > 0
    last = fetch(home, tmp_path, *HALF, cache="killed")
    assert last.code == 0, last.err
    assert last.json["hash"] == unbroken.json["hash"]
    assert len(list((tmp_path / "killed").rglob("*.parquet"))) == 6
    assert not list((tmp_path / "killed").rglob(".*.part"))
    with capsys.disabled():
        sys.stdout.write(
            f"\n{MINUTES:,} bars in {seconds:.1f} s and {calls} calls, peak {peak_kb // 1000} MB; "
            f"after {kills} kills {parts_left} of 6 parts were safe, {len(home.calls) - calls} "
            "calls in all\n"
        )


EXCHANGE = (
    "import sys; from functools import partial; import data.providers.ccxt_exchange as X\n"
    "from optimizer.__main__ import main; from tests.support.exchange import open_binance\n"
    "X.open_exchange = partial(open_binance, port=int(sys.argv.pop(1)))\n"
    "sys.exit(main(sys.argv[1:]))"
)


@pytest.mark.timeout(1200)
def test_a_fetch_from_an_exchange_survives_kills(tmp_path, capsys, kills):
    """Killed at any page, it goes on behind those that came, to the bars of an unbroken fetch."""
    fake, moments = FakeExchange(2000, cap=25), random.Random(7)
    fetching = ("data", "fetch", "ccxt:binance:BTC/USDT:1h:2024-01-01:2024-03-01", "--json")
    with serve_exchange(fake) as open_exchange:
        options = {"program": ("-c", EXCHANGE, open_exchange.keywords["port"]), "cwd": tmp_path}
        whole = run(*fetching, "--cache", "whole", **options)
        assert whole.code == 0, whole.err
        killed = resumed = unbroken = 0
        while killed < kills:
            begin = len(fake.asked)
            with start(*fetching, "--cache", "killed", **options) as process:
                more = moments.randrange(1, 20)
                while len(fake.asked) < begin + more and process.poll() is None:
                    time.sleep(0.001)
                time.sleep(moments.uniform(0.0, 0.05))
                process.send_signal(signal.SIGKILL)
                process.communicate()
            if process.returncode == 0:
                unbroken += 1
                shutil.rmtree(tmp_path / "killed")
                continue
            killed += 1
            resumed += len(fake.asked) > begin and fake.asked[begin] > START_MS
        last = run(*fetching, "--cache", "killed", **options)
    assert last.code == 0, last.err
    assert last.json["hash"] == whole.json["hash"]
    assert not list((tmp_path / "killed").rglob("*.pages"))
    with capsys.disabled():
        sys.stdout.write(f"\n{killed} kills, {resumed} went on, {unbroken} fetches ended before\n")


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
