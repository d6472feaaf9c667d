"""Engines that treat every strategy as data, also one that fast kernels know."""

from unittest.mock import patch

from engine.batch import Engine
from engine.fast_case import FastCase


def formula_engine(*arguments, **options):
    """An engine as `Engine` makes it, of a strategy without a fast case."""
    with (
        patch("engine.batch.find_fast_case", FastCase),
        patch("engine.devices.find_fast_case", FastCase),
    ):
        return Engine(*arguments, **options)
