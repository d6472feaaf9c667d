"""evolve: search, certify, and show the front."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from engine.runtime.collector import pause_collector
from optimizer.cli.clusters import cluster_flags, connect_cluster
from optimizer.cli.flags import config_flags, option, trust_flag
from optimizer.cli.help import Sectioned
from optimizer.cli.notes import note
from optimizer.cli.shared import ALL, AsJson, ConfigFile, Front, Quiet, single_command
from optimizer.cluster.address import Address
from optimizer.config.run_config import RunConfig, resolve_config
from optimizer.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from optimizer.cli.live import Watcher
    from optimizer.cluster.cluster import Cluster
    from optimizer.evidence.concurrent_folds import SpareCores
    from optimizer.evidence.jobs.executor import Executor
    from optimizer.evidence.judgement import Judgement
    from optimizer.run.task import MakeEvaluator
    from optimizer.store.result import RunResult

app = single_command()


@app.command("evolve", cls=Sectioned)
@trust_flag("resume")
@config_flags(*ALL)
@cluster_flags
def evolve_front(
    context: typer.Context,
    *,
    flags: dict[str, object],
    cluster: Address | None,
    config: ConfigFile = None,
    resume: Annotated[str | None, option("--resume", "Go on with a recorded run.", "RUN")] = None,
    front: Front = "few",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Search for the best compromises between objectives, and certify them."""
    # Before anything heavy is imported, so that what is wrong is refused at once.
    begun = resolve_config(config, flags) if resume is None else None
    with import_search(is_program=bool(context.obj)):
        from optimizer.cli.console import print_json, stderr, stdout
        from optimizer.cli.judge_request import choose_executor
        from optimizer.cli.live import Watcher
        from optimizer.cli.report import write_run_report
        from optimizer.cli.result import print_answer, print_result, result_json
        from optimizer.evidence.concurrent_folds import share_cores
        from optimizer.evidence.judgement import add_held_out
        from optimizer.run.problem import JustSearched
        from optimizer.run.runner import resume_run, start_run
        from optimizer.store import find_run
        from optimizer.store.result import refuse_red

    if resume is not None and config is not None:
        raise ConfigError("--resume takes its configuration from the run; leave --config out")
    runs = Path(
        begun.runs
        if begun is not None
        else str(flags.get("runs", RunConfig.model_fields["runs"].default))
    )
    with (
        connect_cluster(cluster, runs) as workers,
        share_cores(begun if workers is None else None) as beside,
        Watcher(quiet=quiet, beside=beside).listening() as watcher,
    ):
        is_judged = flags.get("judge", begun is None or begun.judge) is not False
        make_evaluator = _choose_evaluator(workers, beside, is_judged=is_judged)
        if begun is not None:
            result = start_run(begun, watcher, make_evaluator)
        else:
            path = find_run(runs, resume or "latest")
            result = resume_run(path, flags, watcher, make_evaluator)
        executor = beside or choose_executor(workers)
        began = perf_counter()
        judgement = _judge_result(result, begun, flags, watcher, executor)
        judgement_s = perf_counter() - began
        # Its rows would stay in memory while the report is written.
        watcher.just = JustSearched()
    result = add_held_out(result, judgement)
    if as_json:
        print_json({**result_json(result, judgement), "judgement_s": judgement_s})
    else:
        print_result(result, judgement, is_whole=front == "all")
    if flags.get("report", True):
        write_run_report(Path(result.path), stderr() if as_json else stdout())
    if not as_json:
        print_answer(result, judgement)
    refuse_red(result.certificate)


@contextmanager
def import_search(*, is_program: bool) -> Iterator[None]:
    """Import what searches, as `pause_collector`; another process compiles loops meanwhile."""
    with pause_collector(is_program=is_program):
        # First, because a machine's first search waits for them.
        from optimizer.search.compiling import compile_in_background

        compile_in_background()
        yield


def _choose_evaluator(
    workers: "Cluster | None", beside: "SpareCores | None", *, is_judged: bool
) -> "MakeEvaluator":
    """Maker of the evaluator: on a cluster where that pays."""
    if workers is None:
        from optimizer.run.task import local_evaluator

        return local_evaluator if beside is None else beside.make_evaluator
    from optimizer.cluster.sharded import on_shards

    return on_shards(workers, is_judged=is_judged)


def _judge_result(
    result: "RunResult",
    begun: RunConfig | None,
    flags: Mapping[str, object],
    watcher: "Watcher",
    executor: "Executor | None",
) -> "Judgement | None":
    """Judge a run as far as was asked for, or what is known of it where nothing was asked.

    One that had ended before is judged where flags ask for it, and where its judge was killed.
    """
    from data.errors import DataError
    from optimizer.cli.judge_request import naming_resume
    from optimizer.config.compute import ComputeSettings, DeviceSettings
    from optimizer.config.evidence import EvidenceSettings
    from optimizer.evidence.judge import build_plan, judge_run
    from optimizer.evidence.judgement import read_judgement
    from optimizer.run.purposes import recorded_config
    from optimizer.store import RunStore

    path = Path(result.path)
    with RunStore.open(path) as store:
        known = read_judgement(store)
        settings = recorded_config(store, flags) if begun is None else begun
    is_asked = bool(flags.keys() & EvidenceSettings.model_fields.keys())
    # A new run has recorded its own.
    places = flags.keys() & {"data", *DeviceSettings.model_fields, *ComputeSettings.model_fields}
    given = {} if begun else {name: flags[name] for name in places}
    if settings.judge is False or (result.resumed and known is not None and not is_asked):
        return known
    plan = build_plan(settings)
    if plan.folds:
        watcher.say(
            f"judging: the search is repeated on {plan.folds} parts of the bars: "
            "from about the time of the search to several times it; --no-judge leaves it out"
        )
    try:
        with naming_resume(path, settings):
            return judge_run(path, plan, given, watcher.show, watcher.just, executor)
    except (DataError, StoreError) as error:
        if is_asked or not result.resumed:
            raise
        note(f"the run is not judged: {error}")
        return None
