"""Small recorded runs."""

from optimizer.report.run import evolve

SMALL = {"population": 16, "generations": 3, "min_trades": 3}


def record_run(runs, **changes):
    """Record a small run in a folder; the path of its directory."""
    return evolve({**SMALL, "runs": str(runs), **changes}).path
