"""The e-process of drift: the law's check values, and what no bet can do."""

from dataclasses import replace

import numpy as np
import pytest

from optimizer.evidence.drift import (
    ALARM,
    DriftRecord,
    build_drift_reference,
    compute_drift_evidence,
    find_alarm,
)
from optimizer.evidence.statistic import AGAINST

TEN = [2, -1.02, -1.01, 2, 0.4, -1.03, 3.5, -1, -1.05, 1.9]
NEW = np.array([-1, -1.02, 2, -1.5, -1, -1] * 10)
REFERENCE = build_drift_reference(np.array(TEN * 4))


def test_check_values_of_the_law():
    """Lower bound of the mean, evidence of three trades, and the alarm."""
    assert (3.5, pytest.approx(0.03585555858511802, rel=1e-9)) == REFERENCE
    evidence = compute_drift_evidence(REFERENCE, NEW)
    expected = [1.0747555115053196, 1.351848709606853, 101.05908193017444]
    np.testing.assert_allclose(evidence[[0, 5, 59]], expected, rtol=1e-9)
    assert find_alarm(evidence) == 42


def test_a_trade_above_all_others_counts_as_the_greatest():
    """No single gain hides losses, and no stake is lost whole."""
    much = compute_drift_evidence(REFERENCE, np.array([100.0, -1, -1]))
    top = compute_drift_evidence(REFERENCE, np.array([3.5, -1, -1]))
    assert much.tolist() == top.tolist()
    assert (top > 0).all()
    small = build_drift_reference(np.array([1.0, -1.0] * 15))
    assert small.top == 3


def test_an_alarm_speaks_against_and_names_its_trade():
    """A record is read back as it was written; without a trade there is no evidence."""
    quiet = DriftRecord(
        source="folds", reference_trades=40, least_mean=0.1, top=3.0, since="2024-01-01T00:00",
        until="2024-02-01T00:00", trades=41, mean_r=-0.11, evidence=3.44,
    )  # fmt: skip
    assert (quiet.row.speaks, quiet.limit) == ("", ALARM)
    alarm = replace(quiet, alarm_at=30, evidence=101.0)
    assert alarm.row.speaks == AGAINST
    assert "trade 30" in alarm.sentence
    assert replace(quiet, trades=0, mean_r=None).sentence
    assert DriftRecord.read(alarm.payload()) == alarm
