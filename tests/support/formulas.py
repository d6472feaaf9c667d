"""Engines that treat every strategy as data, also one that fast kernels know."""

from unittest.mock import patch

from engine.batch import Engine
from engine.fast_case import FastCase


def find_no_fast_case(strategy, costs=None, *, keeps_limits=False):
    """None of a strategy, whatever it costs."""
    return FastCase(strategy)


def formula_engine(*arguments, **options):
    """An engine as `Engine` makes it, of a strategy without a fast case."""
    with patch("engine.devices.find_fast_case", find_no_fast_case):
        return Engine(*arguments, **options)
