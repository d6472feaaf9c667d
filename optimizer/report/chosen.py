"""What notebooks ask beside a single run: several runs compared, and a new strategy checked."""

import pandas as pd

from engine.replay.certificate import certify
from optimizer.config.run_config import make_config
from optimizer.errors import ConfigError
from optimizer.report.pick import compare
from optimizer.report.run import Run
from optimizer.search.operators import sample_genomes
from optimizer.search.randomness import stream
from optimizer.session.task import prepare
from strategy import StrategySpec, register


def compare_runs(**runs: Run) -> pd.DataFrame:
    """Compare the fronts of runs with the same objectives.

    Args:
        runs: Name to run.

    Returns:
        A row a run: its members, how many of them no member of another run dominates, and what
        its front dominates as a share of what all dominate together.

    Raises:
        ConfigError: When objectives differ.
    """
    objectives = {run.objectives for run in runs.values()}
    if len(objectives) != 1:
        raise ConfigError(f"fronts of different objectives cannot be compared: {objectives}")
    return compare({name: run.minimised for name, run in runs.items()})


def check_strategy(spec: StrategySpec, individuals: int = 20, **settings: object) -> pd.Series:
    """Try a strategy before a search: random individuals, in reference and engine.

    Args:
        spec: The strategy; it is known by its name afterwards.
        individuals: How many to draw from within its bounds.
        settings: Fields of `optimizer.config.run_config.RunConfig`, such as ``data=["bars.csv"]``.

    Returns:
        What was found: individuals, the trades that they made, mismatches between reference and
        engine (there must be none), and the first of them in words.
    """
    config = make_config({**settings, "strategy": register(spec).name}, where="check_strategy")
    task = prepare(config, for_search=True)
    layout = task.spec.layout
    drawn = sample_genomes(stream(config.seed, 0, "initial"), layout, individuals)
    genomes, _ = layout.repair(drawn)
    found = certify(task.engine(device="cpu"), genomes, threads=1)
    return pd.Series(
        {
            "individuals": found.individuals,
            "trades": found.trades,
            "mismatches": found.mismatches,
            "first mismatch": found.first_mismatch or "none",
        },
        name=spec.name,
    )
