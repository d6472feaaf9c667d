"""One candidate to backtest, or to compare: its genes, and the task that trades them."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from optimizer.config.run_config import TRADES, RunConfig
from optimizer.errors import ConfigError
from optimizer.evidence.judgement import choose_member
from optimizer.run.individuals import prove_one
from optimizer.run.purposes import REPLAY, restore_front
from optimizer.run.settings import hold_overlaid, refuse_others
from optimizer.run.tables import chosen_individual, encode_genome
from optimizer.run.task import Task, check_genome_fits, prepare
from optimizer.run.trust import find_trusted
from optimizer.search.generation import Floats
from optimizer.store import RunStore


@dataclass(frozen=True)
class GeneSource:
    """Source of genes: values by name, before those of a file or a run's front, else defaults."""

    genes: Mapping[str, float | str]
    file: str | Path | None = None
    run: str | Path | None = None
    member: int | None = None  # which candidate; if None the only one, or a run's pick
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
        with RunStore.open(path) as store:
            index = choose_member(store, len(front), source.member)
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
