"""What Python shows of a run, and what an editor completes."""

import shutil
from dataclasses import fields
from typing import get_args, get_type_hints

from optimizer import load_run
from optimizer.cli.null import EXPORTED
from optimizer.config.data import DataSettings
from optimizer.config.evidence import EvidenceSettings
from optimizer.config.run_config import RunConfig
from optimizer.forecasts.settings import MODELS, TARGETS, ForecastSettings
from optimizer.keywords import (
    ForecastKeywords,
    JudgeKeywords,
    NullKeywords,
    RunKeywords,
    ScanKeywords,
)
from optimizer.trend_scan.knobs import SCANNED
from tests.support.judged import judgement, record_judgement


def test_keywords_name_every_setting():
    """Those of what each function takes, and bars in memory; none more."""
    assert set(get_type_hints(RunKeywords)) == {*RunConfig.model_fields, "bars"}
    assert set(get_type_hints(JudgeKeywords)) == set(EvidenceSettings.model_fields)
    assert set(get_type_hints(ScanKeywords)) == {*SCANNED, "bars"}
    assert set(get_type_hints(NullKeywords)) == {*EXPORTED, "data", "bars"}
    own = {field.name for field in fields(ForecastSettings)}
    assert set(get_type_hints(ForecastKeywords)) == {*own, *DataSettings.model_fields, "bars"}
    kinds = get_type_hints(ForecastKeywords)
    assert (get_args(kinds["model"]), get_args(kinds["target"])) == (MODELS, TARGETS)


def test_a_notebook_shows_a_run_by_its_verdict(example_run, tmp_path):
    """Grade, sentence, next step, numbers of the pick and the front; names are text."""
    shutil.copytree(example_run, tmp_path / "run")
    record_judgement(tmp_path / "run", judgement("luck"))
    run = load_run(str(tmp_path / "run"))
    shown = run._repr_html_()
    assert shown.index("Probably luck") < shown.index("Next: ") < shown.index("Deepest drawdown")
    assert "7 of 200" not in shown
    assert "As good on 2 of 3 shuffled markets" in shown
    assert "<table" in shown
    assert f"{len(run.members)} members" in shown
