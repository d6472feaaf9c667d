"""evolve: search, certify, and show the front."""

from typing import Annotated

from optimizer.cli import shared
from optimizer.cli.console import print_json, stderr, stdout
from optimizer.cli.flags import Sectioned, config_flags, option
from optimizer.cli.progress import listening, open_show
from optimizer.cluster.address import Address
from optimizer.config.run_config import RunConfig, resolve_config
from optimizer.errors import ParityError

app = shared.single_command()


@app.command("evolve", cls=Sectioned)
@config_flags(*shared.ALL, cluster=shared.CLUSTER)
def evolve_front(
    *,
    flags: dict[str, object],
    cluster: Address | None,
    config: shared.ConfigFile = None,
    resume: Annotated[str | None, option("--resume", "Go on with a recorded run.", "RUN")] = None,
    trust: shared.Trust = False,
    front: shared.Front = "few",
    as_json: shared.AsJson = False,
    quiet: shared.Quiet = False,
) -> None:
    """Search for the best compromises between objectives, and certify them."""
    # Before anything heavy is imported, so that a wrong value is refused at once.
    begun = resolve_config(config, flags) if resume is None else config
    from optimizer import api

    red = None
    with listening(open_show(stderr(), quiet=quiet)) as show:
        try:
            run = api.evolve(
                config=begun, resume=resume, trust=trust, cluster=cluster, progress=show, **flags
            )
        except ParityError as error:
            if error.run is None:
                raise
            run, red = error.run, error
    from optimizer.cli.result import print_answer, print_result, result_json

    result, judgement = run.require_result(), run.judgement
    if as_json:
        print_json({**result_json(result, judgement), "judgement_s": run.judgement_s})
    else:
        print_result(result, judgement, is_whole=front == "all")
    if flags.get("report", not isinstance(begun, RunConfig) or begun.report):
        from optimizer.report.page import write_report

        (stderr() if as_json else stdout()).say(f"report {write_report(run)}")
    if not as_json:
        print_answer(result, judgement)
    if red is not None:
        raise red
