"""What a person may ask for, in a file and on the command line, and what comes of it."""

import pytest

from optimizer.config.run_config import RunConfig
from optimizer.run.task import prepare
from tests.support.commands import SMALL

pytestmark = pytest.mark.slow


def test_equal_bounds_freeze_genes_and_few_points_are_told(command, market):
    """Every member has those values; where three are left, no more than three are searched."""
    genes = prepare(RunConfig(data=market)).spec.layout.genes
    frozen = [f"--bound={g.name}={g.default}:{g.default}" for g in genes if g.name != "max_hold"]
    flags = (*SMALL, *frozen, "--bound=max_hold=5:7", "--min-trades", "1", "--json")
    outcome = command("evolve", "--data", market, *flags)
    assert outcome.json["front"]
    for member in outcome.json["front"]:
        held = member["genes"].pop("max_hold")
        assert held in (5, 6, 7)
        assert all(member["genes"][g.name] == g.default for g in genes if g.name != "max_hold")
    assert outcome.json["individuals"] <= 3
    assert "3 candidates where 8" in command("runs", "show", "latest").out
