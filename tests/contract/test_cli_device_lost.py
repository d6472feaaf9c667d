"""A device that is lost ends a command with exit code 5 and the command that goes on."""

import shlex
from pathlib import Path

import pytest

from engine.devices import why_absent
from optimizer.store import RunStore
from tests.support.commands import run
from tests.support.losing import pretend

pytestmark = pytest.mark.slow

SEARCH = ("--population", "16", "--generations", "6", "--min-trades", "3", "--no-report")
CUDA = ("evolve", "--data", "csv:bars.csv", *SEARCH, "--device", "cuda", "--quiet")
LOST = "the GPU failed (injected): a new process may use it, --device cpu does without"
RESUME, JUDGE = "evolve --resume", "judge"

LOSSES = {
    "while a person stops it": ("stop:4", 2, RESUME),
    "while it is certified": ("ledgers:1", 6, RESUME),
    "while it is judged": ("evaluate:12", 6, JUDGE),
}
"""When a device is lost, the newest generation on disk then, and the command that goes on."""


@pytest.fixture
def whole(command, recordings):
    """The result of a search that no device disturbed, whose bars lie here."""
    return recordings.copy(*SEARCH)


def read_sound(path):
    """Number of a run's newest generation and hash of its front, None without them."""
    with RunStore.open(path) as store:
        assert store.verify() == []
        newest, result = store.last_generation(), store.result
        return newest and newest.number, result and result["front_hash"]


@pytest.mark.parametrize("when", LOSSES)
def test_a_lost_device_costs_no_bit(when, command, whole, monkeypatch):
    """What was recorded is whole, and without the GPU the named command comes to the same."""
    plan, newest, goes_on = LOSSES[when]
    with monkeypatch.context() as patch:
        pretend(plan, patch.setattr)
        outcome = command(*CUDA)
    assert (outcome.code, outcome.out) == (5, "")
    assert outcome.error.startswith(f"{LOST}; ")
    named = shlex.split(outcome.error.partition(" go on with: python -m optimizer ")[2])
    assert " ".join(named).startswith(f"{goes_on} runs/")
    path = next(Path(word) for word in named if word.startswith("runs/"))
    judged = whole["front_hash"] if goes_on == JUDGE else None
    assert read_sound(path) == (newest, judged)
    for words in ([*RESUME.split(), path], named):
        again = command(*words, "--device", "cpu", "--quiet", "--json")
        assert again.code == 0, again.err
        for part in ("pick", "robust", "verdict"):
            assert again.json["judgement"][part] == whole["judgement"][part]
    assert read_sound(path) == (6, whole["front_hash"])


def test_a_device_that_never_starts_leaves_no_run(command, whole, monkeypatch):
    """There is nothing to resume, and no note of it."""
    with monkeypatch.context() as patch:
        pretend("start", patch.setattr)
        outcome = command(*CUDA, "--runs", "others")
    assert (outcome.code, outcome.out, outcome.error) == (5, "", LOST)
    assert not Path("others").exists()


GPU = [
    pytest.mark.gpu,
    pytest.mark.skipif(bool(why_absent("cuda")), reason=f"no cuda device: {why_absent('cuda')}"),
]


@pytest.mark.parametrize(
    ("plan", "reason", "device"),
    [
        ("hang:4", "did not answer", "cpu"),
        pytest.param("illegal:4", "illegal memory access", "cuda", marks=GPU),
        pytest.param("endless:4", "did not answer", "cuda", marks=GPU),
    ],
)
def test_a_process_with_a_broken_device_ends(plan, reason, device, command, whole, tmp_path):
    """Though nothing that waits for the device returns, also at the exit of its libraries."""
    outcome = run(*CUDA, cwd=tmp_path, program=("-m", "tests.support.losing", plan))
    assert (outcome.code, outcome.out) == (5, "")
    assert reason in outcome.err
    named = shlex.split(outcome.err.partition("go on with: python -m optimizer ")[2])
    assert read_sound(tmp_path / named[-1]) == (2, None)
    again = command(*named, "--device", device, "--json", "--quiet", "--no-judge")
    assert again.json["front_hash"] == whole["front_hash"]
