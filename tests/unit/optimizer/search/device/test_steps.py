"""Searches on a device: the same generations as on the host, on an interpreter and on a GPU."""

import logging

import pytest

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from engine.errors import DeviceError, DeviceLostError
from optimizer.search import evolve
from optimizer.search.device import steps
from optimizer.search.device.steps import DeviceSteps
from tests.support.comparisons import interpreted, needs_gpu, on_gpu
from tests.support.searches import Analytic, bits, float_layout, settings


@pytest.mark.slow
def test_interpreted_generations_are_those_of_the_host():
    """Ties, repeats, few points, nobody feasible, new starts, resumed: every bit is equal."""
    assert interpreted("device_steps").count("every bit equal") == 8


@needs_gpu
def test_generations_on_a_gpu_are_those_of_the_host():
    """The same on a GPU, and with populations of up to 32,768."""
    assert on_gpu("device_steps").count("every bit equal") == 8


class Failing:
    """Everybody's place on a device that says no.

    Args:
        error: What it says.
        tried: Receives an entry each time.
    """

    def __init__(self, error, tried):
        self.error, self.tried = error, tried

    def __call__(self, *_arguments):
        """Say no."""
        self.tried.append(1)
        raise self.error


def searched(**options):
    """A small search whose population should live on a device, and the same on the host."""
    problem, wanted = Analytic(float_layout(4), 3), settings(12, 5, archive=10)
    there = DeviceSteps(problem, wanted, "cpu", **options)
    return bits(list(evolve(problem, wanted, steps=there))), bits(list(evolve(problem, wanted)))


@pytest.mark.parametrize("error", [DeviceError("no room"), RuntimeError("no compiler")], ids=str)
def test_where_a_device_cannot_be_made_ready_the_host_goes_on(error, monkeypatch, caplog):
    """It is tried once, told once, and every generation is the host's."""
    tried = []
    monkeypatch.setattr(steps, "Field", Failing(error, tried))
    with caplog.at_level(logging.WARNING):
        found, expected = searched(is_patient=True)
    assert found == expected
    assert len(tried) == 1
    assert [record.message for record in caplog.records] == [
        f"the population stays on the host: {error}"
    ]


def test_a_device_that_is_lost_is_not_hidden(monkeypatch):
    """Whoever runs the search has to know: another process goes on from the last generation."""
    monkeypatch.setattr(steps, "Field", Failing(DeviceLostError("gone"), []))
    with pytest.raises(DeviceLostError, match="gone"):
        searched(is_patient=True)


def test_the_host_goes_on_while_a_device_is_made_ready(monkeypatch):
    """It is not ready before the search is over: no generation waits for it."""
    asked, original = [], steps.Thread

    def never(**options):
        asked.append(options)
        return original(target=lambda: None)

    monkeypatch.setattr(steps, "Thread", never)
    found, expected = searched()
    assert found == expected
    assert len(asked) == 1
