"""What a person may ask for, in a file and on the command line, and what comes of it."""

import pytest

from optimizer.config.run_config import RunConfig
from optimizer.run.task import prepare
from tests.support.commands import SMALL

pytestmark = pytest.mark.slow


def test_everything_wrong_in_file_and_flags_is_told_at_once(command, tmp_path):
    """One line names every key, whatever is wrong with it and wherever it was given."""
    (tmp_path / "run.toml").write_text(
        'population = "8"\nSeed = 1\nfee_bp = inf\nkeep = 3\n[bounds]\nema_fast = [1]\n'
    )
    error = command("evolve", "--config", "run.toml", "--threads", "x", "--risk-fraction=2").error
    for name in ("population", "Seed", "fee_bp", "keep", "bounds.ema_fast", "--threads",
                 "--risk-fraction"):  # fmt: skip
        assert f"{name} " in error


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
