"""bench: verify, then time calls of the engine, or whole runs."""

from typing import Annotated

from optimizer.cli.flags import config_flags, option
from optimizer.cli.help import Sectioned
from optimizer.cli.shared import MARKET, MOST, AsJson, single_command

app = single_command()


@app.command("bench", cls=Sectioned)
@config_flags(*MARKET, "device")
def time_work(
    *,
    flags: dict[str, object],
    population: Annotated[
        int, option("--population", "Random candidates in a call.", "COUNT", min=1, max=MOST)
    ] = 512,
    bars: Annotated[int, option("--bars", "Use the last so many bars.", "COUNT", min=2)] = 35_040,
    repeats: Annotated[int, option("--repeats", "Calls that are timed.", "COUNT", min=3)] = 20,
    whole: Annotated[
        str | None,
        option(
            "--whole",
            "Instead, whole runs from command to end, beside those of last time.",
            "all|CASE,CASE,...",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify the engine, then time it."""
    if whole is not None:
        from optimizer.cli.bench_whole import time_whole_runs

        time_whole_runs(str(flags.get("device", "auto")), whole, as_json=as_json)
    else:
        from optimizer.cli.bench_calls import time_engine

        time_engine(flags, population, bars, repeats, as_json=as_json)
