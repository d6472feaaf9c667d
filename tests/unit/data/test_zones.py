"""Offsets of zones, beside the rows of the corpus that read local times."""

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from data.zones import earliest_moments, to_local
from tests.corpus.row import time_ns


@pytest.mark.parametrize(
    "tz",
    ["America/New_York", "Africa/Casablanca", "Australia/Lord_Howe", "America/Boa_Vista"],
)  # fmt: skip
def test_offsets_of_many_years_agree_with_the_standard_library(tz):
    """Every six hours of fifty years, and the hours around each change of them."""
    times = np.arange("1970-01-02", "2020-01-01", np.timedelta64(6, "h"), dtype="datetime64[h]")
    seconds = times.astype("datetime64[s]").astype(np.int64)
    before = seconds[:-1][np.diff(to_local(seconds * 10**9, tz) - seconds * 10**9) != 0]
    near = (before[:, None] + np.arange(0, 6 * 3600, 900)).ravel()
    for moments in (seconds, near, near - 1):
        zone = ZoneInfo(tz)
        aware = [datetime.fromtimestamp(moment, zone) for moment in moments.tolist()]
        expected = [time.utcoffset().total_seconds() for time in aware]
        offsets = to_local(moments * 10**9, tz) - moments * 10**9
        assert (offsets / 10**9).tolist() == expected


def test_a_day_may_begin_an_hour_late():
    """Clocks of Brazil were put forward at midnight."""
    (first,) = earliest_moments(np.array([time_ns("2018-11-04")]), "America/Sao_Paulo")
    assert first == time_ns("2018-11-04T03:00")
