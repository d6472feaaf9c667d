"""Jumps of prices are noted wherever bars are searched on or traded, as `data show` names them."""

import pytest

from tests.support.commands import SMALL, market_columns
from tests.support.series import NAMES, csv_text, write_csv

pytestmark = pytest.mark.slow

FACTORS = {"3:2": 2 / 3, "1231:1000": 1 / 1.231, "1000:1": 1 / 1000, "no price": None}


@pytest.fixture(params=FACTORS)
def jumping(request, tmp_path):
    """A market that jumps once, or has one row that is no price."""
    columns = {name: column.copy() for name, column in market_columns(3, 3000).items()}
    factor = FACTORS[request.param]
    for name in NAMES[:4]:
        if factor is None:
            columns[name][1500] = 9223372036854775807.0
        else:
            columns[name][1500:] *= factor
    return write_csv(tmp_path, csv_text(columns))


def test_every_command_that_trades_notes_the_jump(command, jumping):
    """The lines of `data show` are those of evolve, backtest and judge."""
    shown = command("data", "show", jumping, "--json").json["quirks"]
    (jump,) = [line for line in shown if line.startswith("the open of ")]
    assert command("evolve", "--data", jumping, *SMALL, "--quiet").err.count(jump) == 1
    assert command("backtest", "--data", jumping).err.count(jump) == 1
    assert command("judge", "latest", "--folds", "0", "--null", "0").err.count(jump) == 1
