"""Small recorded runs."""

from optimizer import evolve
from optimizer.evidence.judge import judge_run
from optimizer.evidence.judged_run import Plan

SMALL = {"population": 16, "generations": 3, "min_trades": 3, "judge": False}


def open_held_out(path):
    """Look at the bars that a run held out, and find out nothing else."""
    plan = Plan(folds=0, blocks=0, is_open=True)
    return judge_run(path, plan, {}, lambda progress: None)


def record_run(runs, **changes):
    """Record a small run in a folder; the path of its directory."""
    return evolve(**{**SMALL, "runs": str(runs), **changes}).path
