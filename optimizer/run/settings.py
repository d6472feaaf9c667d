"""Settings of a call from Python, strategies and bars in memory among them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

from data.plain import make_plain, quote_value
from optimizer.config.run_config import RunConfig, format_flag, make_config, overlaid, read_toml
from optimizer.errors import ConfigError
from strategy import STRATEGIES, StrategyError, load_strategy, register
from strategy.model import Strategy

Specs = str | Path | Sequence[str | Path]
"""Sources of bars."""


@contextmanager
def hold_settings(settings: Mapping[str, object], where: str) -> Iterator[RunConfig]:
    """Configuration of settings, as long as the block lasts.

    Settings are fields of `RunConfig`; ``strategy`` may be a strategy itself, and ``bars`` a frame,
    symbols with a frame each, or groups of rows, in place of ``data``. `where` names the function
    that has them, for errors: ConfigError, or DataError of a frame.
    """
    named = dict(settings)
    if "strategy" in named:
        named["strategy"] = _name_strategy(named["strategy"])
    if "bars" not in named:
        data = named.get("data")
        frames = data.values() if isinstance(data, Mapping) else [data]
        if any(hasattr(frame, "columns") for frame in frames):
            raise ConfigError(f"{where}: data names sources; frames of bars are bars=...")
        yield make_config(named, where=where)
        return
    # Only now: few runs are of bars in memory.
    from optimizer.run.frames import holding_frames

    bars = named.pop("bars")
    if "data" in named:
        raise ConfigError("bars is given in place of data: leave one of them out")
    with holding_frames(bars, make_config(named, where=where)) as config:
        yield config


def build_data_flags(data: Specs | None) -> dict[str, object]:
    """The flags that say where bars are now; none where they have not moved."""
    if data is None:
        return {}
    return {"data": [str(spec) for spec in ([data] if isinstance(data, str | Path) else data)]}


def hold_overlaid(
    settings: Mapping[str, object], config: RunConfig | str | Path | None, where: str
) -> AbstractContextManager[RunConfig]:
    """Configuration of settings over those of another or a file, as long as the block lasts."""
    if isinstance(config, RunConfig):
        settings = overlaid(config.model_dump(exclude_unset=True), settings)
    elif config is not None:
        where, settings = str(config), overlaid(read_toml(Path(config)), settings)
    return hold_settings(settings, where)


def refuse_others(path: Path, settings: Mapping[str, object], allowed: Sequence[str]) -> None:
    """Refuse settings that a recorded run says itself."""
    for name in settings:
        if name not in allowed:
            flag = name if name == "bars" else format_flag(name)
            raise ConfigError(f"{flag}: run '{path.name}' says what it searched; leave it out")


def _name_strategy(spec: object) -> str:
    """The name or file of a strategy; one in memory gets a name that no other one has."""
    if isinstance(address := make_plain(spec), str):
        return address
    if not isinstance(spec, Strategy):
        raise ConfigError(
            "strategy is the name or the file of a strategy, or what strategy(...) made, got "
            f"{quote_value(spec)}"
        )
    if (place := _find_address(spec)) is not None:
        return place
    # An earlier one of that name, such as before an edit, stays what its runs were made with.
    unlike = f"{spec.name or 'strategy'}_{spec.digest[:8]}"
    for name in filter(None, (spec.name, unlike)):
        named = replace(spec, name=name)
        if STRATEGIES.get(name, named).digest == named.digest:
            break
    return register(named).name


def _find_address(spec: Strategy) -> str | None:
    """Address of a strategy as it is, so that a run of it goes on in any process; else None."""
    if spec.source is None:
        return None
    address = f"{spec.source.path}:{spec.name}"
    try:
        return address if load_strategy(address).digest == spec.digest else None
    except StrategyError:
        return None
