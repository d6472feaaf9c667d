"""evolve: search, certify, and show the front."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from data.errors import DataError
from optimizer.cluster.address import Address
from optimizer.commands.clusters import connect_cluster
from optimizer.commands.console import print_json, stderr, stdout
from optimizer.commands.judge import judged_after_search
from optimizer.commands.live import Watcher
from optimizer.commands.notes import note
from optimizer.commands.report import write_run_report
from optimizer.commands.restart import Restart
from optimizer.commands.result import print_answer, print_result, result_json
from optimizer.config.evidence import EvidenceSettings
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError, StoreError
from optimizer.judging.judgement import Judgement, recorded_judgement, with_held_out
from optimizer.runs import RunStore, find_run
from optimizer.runs.result import RunResult, refuse_red
from optimizer.session.evaluating import MakeEvaluator, local_evaluator
from optimizer.session.header import recorded_config
from optimizer.session.problem import JustSearched
from optimizer.session.workflow import resume_run, start_run

if TYPE_CHECKING:
    from optimizer.cluster.cluster import Cluster


@dataclass(frozen=True)
class Output:
    """What a command prints.

    Args:
        as_json: One JSON object in place of tables.
        is_quiet: Whether to leave progress out.
        is_whole: Whether to print all members of a front, not those that differ most.
    """

    as_json: bool
    is_quiet: bool
    is_whole: bool


def evolve_command(
    flags: Mapping[str, object],
    config_file: Path | None,
    resume: str | None,
    begun: RunConfig | None,
    output: Output,
    *,
    own: Sequence[str] | None,
    cluster: Address | None,
) -> None:
    """Evolve or go on, print the result, and fail when the certificate is red.

    `begun` is the configuration of a new run, `resume` the name of one to go on with; `own` are
    the arguments of this process, where it may begin them anew; `cluster` is where to compute.
    """
    if resume is not None and config_file is not None:
        raise ConfigError("--resume takes its configuration from the run; leave --config out")
    restart = None
    if own is not None:
        kept = {
            "--json": output.as_json,
            "--quiet": output.is_quiet,
            "--front=all": output.is_whole,
            "--no-report": not flags.get("report", True),
            "--debug": "--debug" in own,
        }
        flags_kept = [flag for flag, is_given in kept.items() if is_given]
        restart = Restart.of_command(own, flags_kept, is_resumed=resume is not None)
    runs = Path(str(flags.get("runs", RunConfig.model_fields["runs"].default)))
    runs = runs if begun is None else Path(begun.runs)
    with (
        connect_cluster(cluster, runs, quiet=output.is_quiet) as workers,
        Watcher(quiet=output.is_quiet, restart=restart).listening() as watcher,
    ):
        is_judged = flags.get("judge", begun is None or begun.judge) is not False
        place = _place(workers, is_judged=is_judged)
        if begun is not None:
            result = start_run(begun, watcher, watcher.should_stop, place)
        else:
            path = find_run(runs, resume or "latest")
            result = resume_run(path, flags, watcher, watcher.should_stop, place)
        judgement = _judge_result(result, begun, flags, watcher, workers)
        # Its rows would stay in memory while the report is written.
        watcher.just = JustSearched()
    result = with_held_out(result, judgement)
    if output.as_json:
        print_json(result_json(result, judgement))
    else:
        print_result(result, judgement, is_whole=output.is_whole)
    if flags.get("report", True):
        write_run_report(Path(result.path), stderr() if output.as_json else stdout())
    if not output.as_json:
        print_answer(result, judgement)
    refuse_red(result.certificate)


def _place(workers: "Cluster | None", *, is_judged: bool) -> MakeEvaluator:
    """Where individuals are evaluated: on a cluster where that pays."""
    if workers is None:
        return local_evaluator
    from optimizer.cluster.sharded import on_shards

    return on_shards(workers, is_judged=is_judged)


def _judge_result(
    result: RunResult,
    begun: RunConfig | None,
    flags: Mapping[str, object],
    watcher: Watcher,
    workers: "Cluster | None",
) -> Judgement | None:
    """Judge a run as far as was asked for, or what is known of it where nothing was asked.

    One that had ended before is judged where flags ask for it, and where its judge was killed.
    """
    path = Path(result.path)
    with RunStore.open(path) as store:
        known = recorded_judgement(store)
        settings = recorded_config(store, flags) if begun is None else begun
    is_asked = bool(flags.keys() & EvidenceSettings.model_fields.keys())
    if settings.judge is False or (result.resumed and known is not None and not is_asked):
        return known
    try:
        return judged_after_search(
            path, settings, watcher.just, quiet=watcher.quiet, workers=workers
        )
    except (DataError, StoreError) as error:
        if is_asked or not result.resumed:
            raise
        note(f"the run is not judged: {error}")
        return None
