"""Settings of a call from Python, strategies and bars in memory among them; and one candidate."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from data.plain import make_plain, quote_value
from optimizer.config.run_config import (
    TRADES,
    RunConfig,
    format_flag,
    make_config,
    overlaid,
    read_toml,
)
from optimizer.errors import ConfigError
from optimizer.run.genes_file import chosen_individual, chosen_member, encode_genome
from optimizer.run.individuals import prove_one
from optimizer.run.purposes import REPLAY, restore_front
from optimizer.run.task import Task, check_genome_fits, prepare
from optimizer.run.trust import find_trusted
from optimizer.search.generation import Floats
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


@dataclass(frozen=True)
class GeneSource:
    """Source of genes: values by name, before those of a file or a run's front, else defaults."""

    genes: Mapping[str, float | str]
    file: str | Path | None = None
    run: str | Path | None = None
    member: int | None = None  # which candidate; None where there is only one
    trust: bool = field(default=False, kw_only=True)  # whether to trust the run from now on

    @cached_property
    def of_file(self) -> Mapping[str, object]:
        """Values of the file, which is read once; none without one."""
        return {} if self.file is None else chosen_individual(Path(self.file), self.member)


@contextmanager
def hold_candidate(
    source: GeneSource,
    settings: Mapping[str, object],
    config: RunConfig | str | Path | None,
    where: str,
) -> Iterator[tuple[Task, Floats, str]]:
    """Task, genome [G] and the source of its genes in words, as long as the block lasts.

    A task is that of the run on bars that `settings` name, else that of a configuration.
    ConfigError when a setting or a gene is unknown or wrong; `where` names the call.
    """
    if source.run is not None and (source.file is not None or config is not None):
        other = "--genes" if source.file is not None else "--config"
        raise ConfigError(f"a run and {other} both say what to {where}: leave one out")
    runs = Path(str(settings.get("runs", "runs")))
    path = find_trusted(source.run, runs, trust=source.trust)
    held: AbstractContextManager[RunConfig | None] = nullcontext()
    if path is None:
        held = hold_overlaid(settings, config, where)
    else:
        settings = {name: value for name, value in settings.items() if name != "runs"}
        refuse_others(path, settings, TRADES)
    with held as configured:
        task, genome, whose = _resolve(source, path, settings, configured)
        check_genome_fits(task, genome)
        prove_one(task, genome)
        yield task, genome, whose


def require_genes(task: Task, source: GeneSource) -> None:
    """Refuse genes without a value but their default, naming all of them."""
    if source.run is not None:
        return
    layout, given = task.spec.layout, (source.genes, source.of_file)
    known = {name for values in given for name in layout.name_genes(values)}
    shown = task.spec.layout.show(task.spec.layout.defaults)
    if missing := [f"--set {name}={value}" for name, value in shown.items() if name not in known]:
        raise ConfigError(
            f"a list of trades is of fixed values, and {task.spec.name} has genes without one: "
            f"{' '.join(missing)}"
        )


def _resolve(
    source: GeneSource,
    path: Path | None,
    flags: Mapping[str, object],
    config: RunConfig | None,
) -> tuple[Task, Floats, str]:
    changed = f" with {', '.join(f'{name}={value}' for name, value in source.genes.items())}"
    changed = changed if source.genes else ""
    if path is not None:
        name = path.name
        task, front = restore_front(path, REPLAY, flags)
        index = chosen_member(f"run '{name}'", len(front), source.member)
        layout, whose = task.spec.layout, f"member {index} of run {name}{changed}"
        return task, encode_genome(layout, layout.decode(front[index]), source.genes), whose
    genes: list[Mapping[str, object]] = [source.genes]
    whose = ""
    if source.file is not None:
        which = "genes" if source.member is None else f"member {source.member}"
        genes = [source.of_file, source.genes]
        whose = f"{which} of {Path(source.file).name}{changed}"
    elif source.member is not None:
        raise ConfigError(
            "--member chooses from a run or a file: name a run, or add --genes or --run"
        )
    assert config is not None, "what is no run's has a configuration"
    task = prepare(config, genes=genes)
    return task, encode_genome(task.spec.layout, *genes), whose
