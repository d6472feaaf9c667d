"""What Python shows of a run, and what an editor completes."""

import inspect
import shutil

import pytest

import optimizer
from optimizer import load_run
from tests.support.judged import judgement, record_judgement


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (optimizer.evolve, {"population", "null", "bars", "strategy", "resume"}),
        (optimizer.judge, {"null", "threads", "pick"}),
        (optimizer.scan, {"dedupe", "bars", "high"}),
        (optimizer.null_markets, {"null_keep", "aligned_columns", "bars", "count"}),
        (optimizer.forecast, {"model", "finer", "bars", "out"}),
    ],
)
def test_a_shell_completes_every_setting_of_a_call(call, names):
    """Its own arguments and the fields of the configuration, each once."""
    assert names <= set(inspect.signature(call).parameters)


def test_a_notebook_shows_a_run_by_its_verdict(example_run, tmp_path):
    """Grade, sentence, next step, numbers of the pick and the front; names are text."""
    shutil.copytree(example_run, tmp_path / "run")
    record_judgement(tmp_path / "run", judgement("luck"))
    run = load_run(str(tmp_path / "run"))
    shown = run._repr_html_()
    assert shown.index("Probably luck") < shown.index("Next: ") < shown.index("Deepest drawdown")
    assert shown.startswith("<p>On a simulated market: <strong>Probably luck</strong><br>")
    assert "7 of 200" not in shown
    assert "As good on 2 of 3 shuffled markets" in shown
    assert "<table" in shown
    assert f"{len(run.members)} members" in shown
