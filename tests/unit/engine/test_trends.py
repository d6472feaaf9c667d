"""The adaptive trend's fast form: the bits of its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.runtime.compiling.forms import CompiledForm
from engine.trends import trends
from strategy.indicators import adaptive_trend as law
from tests.support.trend import A
from tests.support.worlds import make_bars

RUN = CompiledForm()


def compute_row(close, parameters, is_script=False):
    """The row as the definition has it."""
    loop = law.adaptive_trend_script if is_script else law.adaptive_trend
    values = np.array(close, np.float64)
    # As bars have theirs, so that nothing is compiled for this file alone.
    values.flags.writeable = False
    return RUN(loop)(values, *parameters)


def fast(close, parameters, is_script=False):
    """The row by the fast form."""
    return trends([np.asarray(close, np.float64)], parameters, is_script=is_script)[0].row


def change_set(**given_):
    """Set A with some parameters changed, by name."""
    names = [f"{family}_len" for family in law.FAMILIES]
    names += ["robustness", "growth", "decay", "cutout", "vote_long", "vote_short"]
    names += [f"{family}_weight" for family in law.FAMILIES]
    return tuple({**dict(zip(names, A, strict=True)), **given_}[name] for name in names)


def walk(bars, seed=1, tick=0.01):
    """Prices that repeat."""
    return make_bars(seed, bars, tick=tick, flat=0.05, jump=0.02).close


@st.composite
def parameters(draw):
    """Any legal tuple of not too long averages."""
    lengths = st.integers(9, 40)
    most = draw(st.integers(-100, 100))
    return (
        *(draw(lengths) for _ in law.FAMILIES),
        draw(st.integers(0, 2)),
        draw(st.integers(0, 1000)),
        draw(st.one_of(st.integers(0, 50), st.just(9999))),
        draw(st.integers(0, 90)),
        most,
        draw(st.integers(-100, most)),
        *(draw(st.integers(0, 1000)) for _ in law.FAMILIES),
    )


LENGTHS = [f"{family}_len" for family in law.FAMILIES]

CASES = {
    "flat": (np.full(200, 7.0), A),
    "staircase": (100.0 + np.arange(400) // 7 * 0.01, A),
    "one bar": (np.array([3.0]), A),
    "narrowest": (walk(300), change_set(**dict.fromkeys(LENGTHS, 9), robustness=0)),
    "longer than the series": (walk(300), change_set(hma_len=4096, kama_len=400, dema_len=290)),
    "falls by more than all": (np.array([2.0**-k for k in range(60)] * 3),
        change_set(growth=1000)),
    "forgets all": (walk(300), change_set(decay=9999)),
    "equities beyond all numbers": (
        100.0 * np.cumprod(np.where(np.arange(4000) // 1000 % 2 == 0, 1.9, 1 / 1.9)),
        change_set(growth=1000)),
}  # fmt: skip


@pytest.mark.parametrize("is_script", [False, True], ids=["law", "script"])
@pytest.mark.parametrize("name", CASES)
def test_rows_equal_the_definition(name, is_script):
    """Every bit, and numbers from -1 to 1 from the cutout on."""
    close, given_ = CASES[name]
    row = fast(close, given_, is_script)
    assert row.tobytes() == compute_row(close, given_, is_script).tobytes()
    assert np.isnan(row[: given_[9]]).all()
    assert (np.abs(row[given_[9] :]) <= 1.0).all()


@given(given_=parameters(), bars=st.integers(1, 260), seed=st.integers(0, 99), script=st.booleans())
def test_any_parameters_equal_the_definition(given_, bars, seed, script):
    """Every bit, on short and long series."""
    close = walk(bars, seed, tick=0.5)
    assert fast(close, given_, script).tobytes() == compute_row(close, given_, script).tobytes()
