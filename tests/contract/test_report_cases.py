"""Reports of awkward runs: hostile names, nothing traded, one trade, very many of everything."""

import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data import Window
from engine.accounts.costs import Costs
from optimizer import load_run
from optimizer.cli.backtest_tables import build_ledger_table
from optimizer.cli.console import format_csv
from optimizer.config.run_config import RunConfig
from optimizer.report import write_report
from optimizer.report.run import Single
from optimizer.run.markets import Markets
from optimizer.run.task import prepare
from optimizer.run.trade_details import count_orders
from tests.support.browser import open_page
from tests.support.commands import market_columns, write_market
from tests.support.judged import judgement, record_judgement
from tests.support.order_cases import TWO_TARGETS
from tests.support.runs import record_run
from tests.support.series import write_parquet

pytestmark = pytest.mark.slow

MARKUP = "</script><img src=x onerror=alert(1)><b>bold</b>"
HOSTILE = {
    "markup": MARKUP,
    "text": "=HYPERLINK(1) 🦊 and 日本 {{ 7 * 7 }}${alert(1)}",
    "key": "__proto__",
}
"""What a page, a table or a template, and a script would take for more than a name."""

LARGEST_BYTES = 9_000_000

SHORT = {
    "ema_fast": [2.0, 5.0],
    "ema_slow": [6.0, 20.0],
    "z_window": [5.0, 20.0],
    "atr_window": [5.0, 20.0],
}
ALWAYS = {
    **SHORT,
    "vol_z_min": [-9.0, -8.0],
    "tr_z_min": [-9.0, -8.0],
    "close_location_min": [-1.0, -0.4],
    "max_hold": [1.0, 1.0],
}


def rename_run(run, name, strategy, folder):
    """A copy of a run in a folder, everything that has a name called otherwise."""
    task = run.task
    markets = Markets(
        tuple(replace(bars, symbol=name) for bars in task.markets.series), task.markets.windows
    )
    run.task = replace(task, markets=markets, spec=replace(task.spec, name=strategy))
    run.header = replace(run.header, data=f"{name} 15m", strategy=strategy, notes=(name,))
    run.path = shutil.copytree(run.path, folder / (name.replace("/", "") or "x"))
    return run


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_names_are_text(chromium, example_run, tmp_path, kind):
    """No name makes an element, runs, or is hidden."""
    name = HOSTILE[kind]
    run = load_run(example_run)
    page = write_report(
        rename_run(run, name, f"{name} strategy", tmp_path), tmp_path / "report.html"
    )
    with open_page(chromium, page) as report:
        messages = []
        report.page.on("dialog", lambda dialog: messages.append(dialog.message))
        report.draw_all()
        assert report.errors == []
        assert report.requests == []
        assert messages == []
        assert report.page.locator("main img, main b, header b").count() == 0
        assert report.page.locator("script").count() == 4
        assert name in report.text(".eyebrow")
        assert name in report.text("#evidence .facts")


def test_hostile_words_of_a_judgement_are_text(chromium, example_run, tmp_path):
    """Reasons of what is undefined, and notes, make no element either."""
    shutil.copytree(example_run, tmp_path / "run")
    hostile = judgement("holds", why=MARKUP)
    record_judgement(tmp_path / "run", replace(hostile, notes=(MARKUP,)))
    with open_page(chromium, write_report(load_run(str(tmp_path / "run")))) as page:
        page.draw_all()
        assert page.errors == []
        assert page.page.locator("main img, main b").count() == 0
        for place in ("#rows", "#folds"):
            assert "onerror=alert(1)" in page.text(place)


def test_a_very_long_name_is_cut_and_says_so(chromium, example_run, tmp_path):
    """10 kB of name neither widen the page nor vanish without a word."""
    run = load_run(example_run)
    page = write_report(rename_run(run, "short", "x" * 10_000, tmp_path), tmp_path / "report.html")
    with open_page(chromium, page, width=390) as report:
        assert "(10,000 characters)" in report.text(".eyebrow")
        assert report.page.evaluate("document.documentElement.scrollWidth") == 390
        assert report.errors == []


def test_a_run_in_which_nothing_traded_says_so(chromium, tmp_path):
    """An empty front is a page with a sentence, no chart of members and no error."""
    spec = write_market(tmp_path / "flat.csv", flat=1.0)
    run = load_run(str(record_run(tmp_path / "runs", data=[spec])))
    with open_page(chromium, write_report(run)) as page:
        page.draw_all()
        assert page.errors == []
        assert "The front is empty" in page.text("#front")
        assert page.page.locator("#gene-fans .main-svg").count() > 0
        assert "rejected" in page.text(".cautions").lower()


def test_an_individual_without_a_trade_has_a_page(chromium, tmp_path):
    """Undefined metrics have reasons, and charts say that there is no trade."""
    spec = write_market(tmp_path / "flat.csv", flat=1.0)
    task = prepare(RunConfig(data=[spec]))
    single = Single(task, task.spec.layout.defaults)
    with open_page(chromium, write_report(single, tmp_path / "page.html")) as page:
        page.draw_all()
        assert page.errors == []
        assert page.text("#trade-count") == "0 of 0 trades"
        assert "undefined: no trades" in page.text("#metrics")
        assert "no trade" in page.text('figure[data-chart="distribution"] figcaption')


def test_windows_of_one_series_are_a_page(chromium, tmp_path):
    """Each is in the list of windows, and its trades are those that the table then shows."""
    task = prepare(RunConfig(data=[write_market(tmp_path / "bars.csv")]))
    windows = (Window(0, 0, 1400), Window(0, 1500, 2400), Window(0, 2400, 3000, "held_out"))
    task = replace(task, markets=Markets(task.markets.series, windows))
    values = {"vol_z_min": 0.5, "tr_z_min": 0.3, "z_window": 96}
    single = Single(task, task.spec.layout.encode(values))
    trades = single.trades(0)
    with open_page(chromium, write_report(single, tmp_path / "page.html")) as page:
        page.draw_all()
        assert page.errors == []
        assert page.text("#f-symbol-label").split()[0] == "window"
        assert "window" in page.texts("#trade-table thead th")
        for number, label in enumerate(task.markets.labels):
            page.page.select_option("#f-symbol", label)
            count = int((trades["window"] == number).sum())
            assert page.text("#trade-count").startswith(f"{count} of {len(trades)} trades")
            # It is drawn anew after the table.
            page.page.locator('figure[data-chart="symbol"]', has_text=label).first.wait_for()
        expected = format_csv(
            *build_ledger_table(task, single.genomes[0], single.engine.trades(single.genomes[0]))
        )
        assert page.download("#csv") == expected
        page.page.select_option("#f-symbol", "")
        page.page.select_option("#f-sample", "held out")
        count = int((trades["sample"] == "held out").sum())
        assert page.text("#trade-count").startswith(f"{count} of {len(trades)} trades")
        assert page.errors == []


def list_aims(trades, k):
    """Price and share of each target of a trade."""
    pairs = [(trades[f"{leg}_target"][k], trades[f"{leg}_share"][k]) for leg in ("leg1", "leg2")]
    return [(aim, share) for aim, share in pairs if not np.isnan(aim)]


def test_orders_legs_and_money_are_in_a_page(chromium, tmp_path):
    """Tiles count them, a trade shows its partial exits, and the file is that of `--trades`."""
    task = prepare(RunConfig(data=[write_market(tmp_path / "bars.csv")]))
    task = replace(task, spec=TWO_TARGETS, costs=Costs(fee_unit=0.5))
    single = Single(task, TWO_TARGETS.layout.defaults)
    # The curve is that of the account, whose cash sizes trades.
    total = single.front["total_return"][0]
    assert single.equity(0).iloc[-1] - 1.0 == pytest.approx(total, rel=1e-12)
    ledgers = single.engine.trades(single.genomes[0])
    counts = count_orders(TWO_TARGETS, ledgers)
    trades = single.trades(0)
    k = trades.index[trades["leg1_bar"] < trades["exit_bar"]][0]
    with open_page(chromium, write_report(single, tmp_path / "page.html")) as page:
        page.draw_all()
        assert page.errors == []
        tiles = dict(line.split("\n")[:2] for line in page.texts(".tiles div"))
        assert tiles["Resting orders"] == f"{counts.placed:,}"
        assert tiles["Partial exits"] == f"{counts.partials:,}"
        assert tiles["Leverage, at most"] == "0.3 x"
        assert "Borrowing paid" in tiles
        assert "account(10000, risk(0.01), 0.3)" in page.text("main")
        heads = page.texts("#trade-table thead th")
        added = ["partial exits", "funding in R", "borrowing in R", "size", "leverage"]
        assert heads[-len(added) :] == added
        assert "partial exit" in page.legend("price")
        page.page.fill("#f-time", str(trades["entry_time"][k])[:16])
        page.page.click("#trade-table tbody tr:first-child")
        share, at = trades["leg1_share"][k], trades["leg1_price"][k]
        chart = page.page.locator('figure[data-chart="trade"]')
        sentence = chart.inner_text()
        assert f"{100 * share:g}% out at {at:g}, " in sentence
        assert ", the rest out " in sentence
        marks = chart.locator(".plot").evaluate("plot => plot.data.at(-1).y")
        assert list(marks)[:1] == [at]
        told = ", ".join(f"{aim:.6g} ({100 * share:g}%)" for aim, share in list_aims(trades, k))
        assert f", target {told}, " in sentence
        lines = chart.locator(".plot").evaluate("plot => plot.data[2].y")
        drawn = [line for line in lines if line is not None][::2]
        assert drawn == [aim for aim, _ in list_aims(trades, k)]
        expected = format_csv(*build_ledger_table(task, single.genomes[0], ledgers))
        assert page.download("#csv") == expected


def test_hundreds_of_symbols_are_a_page(chromium, tmp_path):
    """It stays below its size, names the best and the worst, and filters by symbol."""
    specs = [
        write_parquet(tmp_path, market_columns(i, 200, jump=0.05), f"s{i:04d}.parquet")
        for i in range(300)
    ]
    few = {"min_trades": 1, "population": 4, "generations": 1}
    bounds = {**SHORT, "vol_z_min": [0.1, 1.0], "tr_z_min": [0.1, 1.0], "max_hold": [2.0, 20.0]}
    run = load_run(str(record_run(tmp_path, data=specs, **few, bounds=bounds)))
    page = write_report(run, tmp_path / "page.html")
    assert page.stat().st_size < LARGEST_BYTES
    with open_page(chromium, page) as report:
        report.draw_all()
        assert report.errors == []
        assert "300 symbols" in report.text("#evidence .facts")
        assert "of 300" in report.text('figure[data-chart="symbol"] figcaption')
        report.page.select_option("#f-symbol", "s0007")
        own = run.trades(int(report.text("#chosen").split()[1].strip(":")))
        count = int((own["symbol"] == "s0007").sum())
        assert report.text("#trade-count").startswith(f"{count} of {len(own):,} trades")


def test_tens_of_thousands_of_trades_are_a_page(chromium, tmp_path):
    """All of them are in it, below its size, and the charts say what they leave out."""
    run = load_run(str(record_run(tmp_path, **dense_market(tmp_path / "bars.parquet"))))
    trades = int(run.front["trades"].max())
    assert trades >= 50_000
    page = write_report(run, tmp_path / "page.html")
    assert page.stat().st_size < LARGEST_BYTES
    with open_page(chromium, page) as report:
        report.draw_all()
        assert report.errors == []
        assert report.text("#trade-count").startswith(f"{trades:,} of {trades:,} trades")
        assert "evenly chosen, are marked" in report.text('figure[data-chart="price"] figcaption')


def dense_market(path, length=102_000):
    """A market that swings, and settings under which nearly every second bar trades."""
    rng = np.random.Generator(np.random.PCG64(1))
    swing = 0.2 * np.sin(np.arange(length) / 500)
    close = np.round(100 * np.exp(swing + rng.normal(0, 0.002, length)), 4)
    open_ = np.concatenate([[100.0], close[:-1]])
    reach = 1 + np.abs(rng.normal(0, 0.002, (2, length)))
    start = np.datetime64("2010-01-01", "ns")
    columns = {
        "timestamp": pa.array(start + np.arange(length) * np.timedelta64(15, "m")),
        "open": open_,
        "high": np.maximum(open_, close) * reach[0],
        "low": np.minimum(open_, close) / reach[1],
        "close": close,
        "volume": rng.lognormal(3, 1, length),
    }
    pq.write_table(pa.table(columns), path)
    return {
        "data": [f"parquet:{path}"],
        "population": 4,
        "generations": 1,
        "min_trades": 1,
        "objectives": "trades",
        "bounds": ALWAYS,
    }
