"""Finer bars of a run's series: read beside them, and put to those that they make up."""

from collections.abc import Sequence
from dataclasses import replace

from data import Bars, LoadOptions, load_bars
from optimizer.errors import ConfigError
from optimizer.formatting import format_count


def require_finer_fit(finer: Sequence[str], specs: Sequence[str]) -> None:
    """Refuse finer bars of which is not clear whose they are.

    Raises:
        ConfigError: When there are some, and not one source for each of the series.
    """
    if finer and len(finer) != len(specs):
        raise ConfigError(
            f"--finer names {format_count(len(finer), 'source')}, --data "
            f"{format_count(len(specs), 'source')}: name one for each, in the same order; "
            "a run that is replayed on other --data needs --finer anew"
        )


def with_finer(bars: Bars, spec: str, options: LoadOptions) -> Bars:
    """Bars that carry finer ones, with a note of how many are made up of them.

    Raises:
        ConfigError: When those of the source are not finer, or make up none.
        DataError: When they cannot be read.
    """
    plain = replace(options, timeframe=None, source_timeframe=None, aligned_columns=())
    read = load_bars(spec, plain)
    if not read.timeframe_ns < bars.timeframe_ns:
        raise ConfigError(
            f"--finer '{spec}': its bars of {read.timeframe} are not shorter than those of "
            f"{bars.timeframe} of {bars.symbol}; --timeframe makes longer bars of a source"
        )
    carrying = replace(bars, finer=read.as_finer())
    first, end = carrying.finer_spans
    count = int((end > first).sum())
    if not count:
        raise ConfigError(
            f"--finer '{spec}': none of the bars of {bars.symbol} is made up of its bars: first "
            "open, largest high, smallest low and last close must be equal to the last bit; "
            "what is not given is that of the run: bars of another market need --finer of their own"
        )
    note = (
        f"{count:,} of {len(bars):,} bars are made up of finer bars of {read.timeframe} ({spec}); "
        "the others are read as a whole"
    )
    return replace(carrying, notes=(*bars.notes, note))
