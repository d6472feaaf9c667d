"""A search whose device is lost: it goes on by itself, keeps its run, and finds the same front."""

import fcntl
import os
import random
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from engine.devices import why_absent
from optimizer.store import RunStore, list_runs
from tests.support.commands import Outcome, market_columns, printed, run, start
from tests.support.series import write_parquet

pytestmark = pytest.mark.slow

SEARCH = ("--population", "16", "--generations", "6", "--min-trades", "3", "--seed", "2")
QUIETLY = ("--json", "--quiet", "--no-report", "--no-judge")
CUDA = ("--device", "cuda")
LOSING = ("-m", "tests.support.losing")


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """A market of 3,000 bars that a process reads in no time."""
    place = tmp_path_factory.mktemp("market")
    return write_parquet(place, market_columns(3, 3000, jump=0.05), "bars.parquet")


@pytest.fixture(scope="module")
def undisturbed_hash(tmp_path_factory, market):
    """The hash of the front that is to be found."""
    place = tmp_path_factory.mktemp("undisturbed")
    process = run("evolve", "--data", market, *SEARCH, *QUIETLY, "--device", "cpu", cwd=place)
    return process.json["front_hash"]


class Losing:
    """Searches on a device that is lost by a plan.

    Args:
        place: Where it runs.
        market: What it searches on.
    """

    def __init__(self, place, market):
        self._place, self._market = place, market

    def start(self, plan, *flags, arguments=None):
        """Start the search, or other arguments, as a process."""
        given = arguments or ("evolve", "--data", self._market, *SEARCH, *CUDA, *flags)
        fields = {"LOSING": str(self._place / "log"), "LOSING_PLAN": plan}
        return start(*given, cwd=self._place, env=fields, program=LOSING, start_new_session=True)

    def run(self, plan, *flags, arguments=None):
        """Run it to its end, which leaves no process behind."""
        with self.start(plan, *flags, arguments=arguments) as process:
            out, err = process.communicate(timeout=300)
        assert list_members(process.pid) == []
        return Outcome(process.returncode, out, err)

    @property
    def programs(self):
        """Process and arguments of each program that began."""
        lines = (self._place / "log").read_text().splitlines()
        return [(int(line.split()[0]), line.split()[1:]) for line in lines]

    @property
    def only_run(self):
        """The one run that was recorded."""
        (summary,) = list_runs(self._place / "runs")
        return summary


def list_members(session):
    """Processes of a session."""
    members = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            members.append(stat.parent.name)
    return members


@pytest.fixture
def search(tmp_path, market):
    """A search to be disturbed."""
    return Losing(tmp_path, market)


def restarts(outcome):
    """The note of each restart."""
    return [line for line in outcome.err.splitlines() if "going on" in line]


def test_a_lost_device_costs_no_bit(search, undisturbed_hash):
    """The same process goes on under a new program, where the last one was; results come once."""
    outcome = search.run("evaluate:4 none", *QUIETLY)
    assert outcome.code == 0, outcome.err
    assert outcome.json["front_hash"] == undisturbed_hash
    (first, given), (second, again) = search.programs
    assert first == second
    assert given[0] == again[0] == "evolve"
    # Whether to judge is a knob that the run has recorded.
    kept = [flag for flag in QUIETLY if flag != "--no-judge"]
    assert again[1:] == ["--resume", str(Path("runs") / search.only_run.id), *kept]
    (restart,) = restarts(outcome)
    assert restart == (
        "note: the GPU failed (injected): a new process may use it, --device cpu does without; "
        "going on after generation 2, restart 1 of 3"
    )
    with RunStore.open(search.only_run.path) as store:
        assert store.verify() == []
        assert store.status == "finished"
    assert not (search.only_run.path / "report.html").exists()


def test_wherever_it_is_lost(search, undisturbed_hash):
    """At the start, before the first generation, by hanging, while certifying, and repeatedly.

    Where a generation is recorded in between, the next failure is a first one again.
    """
    plan = "start evaluate:1 start evaluate:3 hang:3 start ledgers:1 none"
    outcome = search.run(plan, *QUIETLY)
    assert outcome.code == 0, outcome.err
    assert outcome.json["front_hash"] == undisturbed_hash
    messages = [line.partition("; going on ")[2] for line in restarts(outcome)]
    assert messages == [
        "from the start, restart 1 of 3",
        "from the start, restart 2 of 3",
        "from the start, restart 3 of 3",
        "after generation 1, restart 1 of 3",
        "after generation 2, restart 1 of 3",
        "after generation 2, restart 2 of 3",
        "after generation 6, restart 1 of 3",
    ]
    assert len(search.programs) == 8
    assert len({process for process, _ in search.programs}) == 1
    assert search.only_run.status == "finished"


def test_a_device_that_is_lost_for_good_ends_with_the_way_to_resume(
    search, undisturbed_hash, tmp_path, market
):
    """Three restarts, exit code 5, and a command that finds the same front."""
    outcome = search.run("evaluate:4 evaluate:1", *QUIETLY)
    assert (outcome.code, outcome.out, len(search.programs)) == (5, "", 4)
    assert [line.rpartition(" restart ")[2] for line in restarts(outcome)] == [
        "1 of 3",
        "2 of 3",
        "3 of 3",
    ]
    error = outcome.err.splitlines()[-1]
    assert error.startswith("error: the GPU failed (injected): ")
    command = shlex.split(error.partition("go on with: python -m optimizer ")[2])
    with RunStore.open(search.only_run.path) as store:
        assert store.last_generation().number == 2
    again = run(*command, *QUIETLY, "--device", "cpu", cwd=tmp_path)
    assert again.json["front_hash"] == undisturbed_hash


def test_a_device_that_never_starts_leaves_no_run(search, tmp_path):
    """There is nothing to resume, and no note of it."""
    outcome = search.run("start")
    assert (outcome.code, outcome.out, len(search.programs)) == (5, "", 4)
    assert outcome.err.splitlines()[-1] == (
        "error: the GPU failed (injected): a new process may use it, --device cpu does without"
    )
    assert {" ".join(arguments) for _, arguments in search.programs} == {
        " ".join(search.programs[0][1])
    }
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("plan", ["start hang:1 start", "evaluate:3 evaluate:1"])
def test_the_processor_takes_over_if_allowed(search, undisturbed_hash, plan):
    """After three restarts, and not before."""
    outcome = search.run(plan, *QUIETLY, "--on-gpu-loss", "cpu")
    assert outcome.code == 0, outcome.err
    assert outcome.json["front_hash"] == undisturbed_hash
    assert outcome.json["device"]["name"] == "cpu"
    assert len(search.programs) == 5
    assert [("cpu" in arguments[-2:]) for _, arguments in search.programs[:4]] == [
        "--on-gpu-loss" in arguments for _, arguments in search.programs[:4]
    ]
    assert search.programs[-1][1][-2:] == ["--device", "cpu"]
    assert restarts(outcome)[-1].endswith("with the CPU")


def test_a_resumed_run_keeps_what_it_was_given(search, tmp_path):
    """Flags that were given anew count behind a restart too, and latest is the same run."""
    begun = search.run("none", *QUIETLY)
    (tmp_path / "log").unlink()
    given = ("evolve", "--resume", "latest", "--generations", "9", "--threads", "1", *QUIETLY)
    outcome = search.run("evaluate:3 none", arguments=given)
    assert outcome.code == 0, outcome.err
    assert (begun.json["generation"], outcome.json["generation"]) == (6, 9)
    assert outcome.json["device"]["threads"] == 1
    assert search.programs[1][1][-2:] == [
        "--resume",
        str(search.only_run.path.relative_to(tmp_path)),
    ]


@pytest.mark.gpu
@pytest.mark.skipif(bool(why_absent("cuda")), reason=f"no cuda device: {why_absent('cuda')}")
@pytest.mark.parametrize("plan", ["illegal:3 none", "endless:3 none", "illegal:1 endless:2 none"])
def test_a_gpu_that_breaks_costs_no_bit(search, undisturbed_hash, plan):
    """An illegal address and a kernel that never ends, on the device of this machine."""
    outcome = search.run(plan, *QUIETLY)
    assert outcome.code == 0, outcome.err
    assert outcome.json["front_hash"] == undisturbed_hash
    assert outcome.json["device"]["name"].startswith("cuda")
    assert len(search.programs) == len(plan.split())
    assert len({process for process, _ in search.programs}) == 1
    fields = {"illegal": "illegal memory access", "endless": "did not answer"}
    for word, line in zip(plan.split(), restarts(outcome), strict=False):
        assert fields[word.partition(":")[0]] in line


def is_free(path):
    """Whether a run's lock could be had at this moment."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def test_the_lock_is_never_free_in_between(search, undisturbed_hash, tmp_path):
    """A process that tries all the time gets the run only when it is finished."""
    tries = 0
    with search.start("evaluate:3 evaluate:1 start none", *QUIETLY) as process:
        while not list((tmp_path / "runs").glob("2*")):
            time.sleep(0.01)
        (path,) = (tmp_path / "runs").glob("2*")
        while not is_free(path):
            tries += 1
        with RunStore.open(path) as store:
            assert store.result is not None
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert Outcome(0, out, err).json["front_hash"] == undisturbed_hash
    assert len(search.programs) == 4
    assert tries > 1000


@pytest.mark.timeout(900)
def test_a_run_that_is_killed_between_its_restarts_finds_the_same_front(
    search, undisturbed_hash, tmp_path, kills
):
    """Whatever is killed, and where: what was recorded is there, and the lock is free."""
    dice = random.Random(5)
    killed = 0
    while killed < kills:
        (tmp_path / "log").unlink(missing_ok=True)
        runs = tmp_path / "runs"
        begun = runs.exists() and list_runs(runs)
        plan = " ".join(dice.choices(["start", "evaluate:2", "evaluate:3", "ledgers:1"], k=4))
        arguments = ("evolve", "--resume", "latest", *QUIETLY) if begun else None
        with search.start(f"{plan} none", *QUIETLY, arguments=arguments) as process:
            try:
                process.communicate(timeout=dice.uniform(0.5, 7))
            except subprocess.TimeoutExpired:
                process.kill()
                killed += 1
        assert list_members(process.pid) == []
        if process.returncode == 0:
            summary = search.only_run
            assert summary.status == "finished"
            with RunStore.open(summary.path) as store:
                assert store.verify() == []
                assert store.result["front_hash"] == undisturbed_hash
            for file in sorted(summary.path.rglob("*"), reverse=True):
                file.unlink()
            summary.path.rmdir()
    if list_runs(tmp_path / "runs"):
        (tmp_path / "log").unlink(missing_ok=True)
        outcome = search.run("none", arguments=("evolve", "--resume", "latest", *QUIETLY))
        assert outcome.json["front_hash"] == undisturbed_hash


def test_a_search_in_a_process_of_others_is_not_restarted(tmp_path, market):
    """From Python the error names the way to go on, and the process stays as it is."""
    program = (
        "import sys, engine.devices, tests.support.losing as losing, optimizer\n"
        "from engine.errors import DeviceLostError\n"
        "backend = losing.losing('evaluate:3')\n"
        "engine.devices.load_backend = lambda name, devices: backend\n"
        "try:\n"
        f"    optimizer.evolve(data='{market}', population=16, generations=6, device='cpu')\n"
        "except DeviceLostError as error:\n"
        "    print(error)\n"
    )
    said = printed(program, cwd=tmp_path)
    assert said.startswith("the GPU failed (injected): a new process may use it")
    assert "go on with: python -m optimizer evolve --resume runs/" in said
