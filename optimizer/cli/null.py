"""null: markets without an edge for the search of any program, and the judgement of its results."""

from pathlib import Path
from typing import Annotated, Literal

from optimizer.atomic_write import write_output
from optimizer.cli.console import print_json, stdout
from optimizer.cli.flags import Sectioned, argument, config_flags, option
from optimizer.cli.shared import AsJson, command_group
from optimizer.config.run_config import EXPORTED, resolve_config
from optimizer.errors import ConfigError

app = command_group("Test the search of any program for luck, on copies of its bars.")


@app.command("export", cls=Sectioned)
@config_flags(*EXPORTED)
def export_null_markets(
    words: Annotated[
        list[str], argument("Bars, as --data names them, then the folder.", "DATA... FOLDER")
    ],
    *,
    flags: dict[str, object],
    count: Annotated[
        int, option("--count", "Copies without an edge, of each kind.", "N", min=1)
    ] = 19,
    more: Annotated[
        int | None, option("--more", "Add so many copies to a folder.", "N", min=1)
    ] = None,
    mirrored: Annotated[
        bool, option("--mirrored", "Mirrored copies too, beside shuffled ones.")
    ] = False,
    form: Annotated[
        Literal["csv", "parquet", "freqtrade", "tradingview"],
        option("--as", "Whose files.", "csv|parquet|freqtrade|tradingview"),
    ] = "csv",
    symbol: Annotated[
        str | None, option("--symbol", "Name of the market there, as BTC/USDT.", "NAME")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write copies of bars without an edge, and the real ones among them, under neutral names.

    Search each market in the same way, and write a line a market, such as m001,1.7, greater being
    better; then null judge says whether the real one stands out. Which one it is stands in a
    sealed file. The seal is no lock: do not compare the files with your bars.
    """
    from optimizer.nulls.folder import null_markets

    *data, path = words
    if not data:
        raise ConfigError(f"'{path}': name the bars too, as in null export DATA FOLDER")
    settings = {**flags, "data": data}
    resolve_config(None, settings)
    made = null_markets(
        path, count=count, more=more, is_mirrored=mirrored, form=form, symbol=symbol, **settings
    )
    if as_json:
        print_json({"folder": path, "markets": made.markets, "copies": made.copies})
        return
    console = stdout()
    first, last = made.markets[0], made.markets[-1]
    console.say(f"{len(made.markets)} markets, {first} to {last}, in {path}")
    console.say("one of them is the real one; sealed.txt names it, so leave it closed")
    console.say(f"next: search each, then null judge {path} RESULTS.csv, with a line a market")


@app.command("judge")
def judge_null_results(
    folder: Annotated[Path, argument("Folder that null export made.", "FOLDER")],
    results: Annotated[
        Path, argument("CSV of two columns: market and result, greater is better.", "RESULTS")
    ],
    *,
    page: Annotated[
        Path | None, option("--page", "Write a page that a browser opens.", "FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say whether a search finds more on the real market than on copies without an edge.

    Each other search that is judged with the folder makes p larger. Copies that null export --more
    adds are searched too, and all results judged again, as often as one likes.
    """
    from optimizer.nulls.judge import null_judge

    verdict = null_judge(folder, results)
    if page is not None:
        from optimizer.report.nulls import build_null_page

        write_output(page, build_null_page(verdict))
    if as_json:
        print_json(verdict.payload())
        return
    console = stdout()
    console.say(verdict.sentence, style="bold")
    console.say_all(verdict.notes)
    if page is not None:
        console.say(f"report {page}")
