"""The report in a real browser: it draws everything, asks for nothing, and answers clicks."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from data import Window
from engine.accounts.costs import Costs
from optimizer import load_run
from optimizer.cli.console import format_csv
from optimizer.config.run_config import RunConfig
from optimizer.formatting import GRADE_WORDS, MEANINGS, metric
from optimizer.report import write_report
from optimizer.report.run import Single
from optimizer.run.backtest import build_ledger_table, count_orders
from optimizer.run.markets import Markets
from optimizer.run.task import prepare
from tests.support.browser import open_page
from tests.support.commands import write_market
from tests.support.judged import judgement, record_judgement
from tests.support.order_cases import TWO_TARGETS
from tests.support.runs import record_run

pytestmark = pytest.mark.slow

SECTIONS = ("verdict", "evidence", "front", "candidate", "trades", "search", "glossary")
CHARTS = (
    "answer", "front", "front3d", "parallel", "equity", "price", "trade", "distribution", "reason",
    "month", "heatmap", "sharpe", "weekday", "hour", "costs",
)  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small run on the sample with more than one member."""
    return load_run(str(record_run(tmp_path_factory.mktemp("runs"), population=24, generations=4)))


@pytest.fixture(scope="module")
def page_file(run, tmp_path_factory):
    """Its report."""
    return write_report(run, tmp_path_factory.mktemp("pages") / "report.html")


def shown_metrics(run, member):
    """The lines of the table of a member's metrics."""
    names = [name for name in run.front.columns if name not in run.genes]
    values = run.front.loc[member]
    return ["Metrics", *(f"{n.replace('_', ' ')}\t{metric(n, float(values[n]))}" for n in names)]


def test_trades_in_the_page_are_those_of_the_engine(chromium, run, page_file):
    """Every row of the table equals the frame's: times, prices, reason, R and costs.

    A filter leaves what it names; a chosen row is drawn; a metric's tooltip says what it is.
    """
    trades = run.trades(run.pick.member)
    gains = trades[trades["r"] > 0]
    with open_page(chromium, page_file) as page:
        titles = page.texts("#trade-table thead th")
        rows = []
        while True:
            rows += page.page.eval_on_selector_all(
                "#trade-table tbody tr",
                "all => all.map(row => [...row.cells].map(c => c.innerText))",
            )
            if page.page.is_disabled("#later"):
                break
            page.page.click("#later")
        page.page.select_option("#f-result", "gain")
        assert page.text("#trade-count").startswith(f"{len(gains)} of {len(trades)} trades")
        page.page.click("#trade-table tbody tr:last-child")
        shown = page.page.get_attribute('#trade-table tr[aria-selected="true"]', "data-trade")
        assert page.text('figure[data-chart="trade"] figcaption').startswith(f"Trade {shown} of")
        named = page.page.eval_on_selector_all(
            "#metrics th", "all => all.map(one => [one.textContent, one.title])"
        )
    assert {name.replace(" ", "_"): title for name, title in named}.items() <= MEANINGS.items()
    assert "sharpe" in dict(named)
    assert len(rows) == len(trades)
    for k, row in enumerate(rows):
        cell, trade = dict(zip(titles, row, strict=True)), trades.iloc[k]
        assert cell["exited"] == str(trade["exit_time"])[:16]
        assert cell["ended by"] == trade["reason"].replace("_", " ")
        assert int(cell["bars"]) == trade["bars_held"]
        for title in ("entry", "stop", "target", "exit"):
            assert float(cell[title]) == float(f"{trade[title]:.6g}"), title
        assert cell["R"] == f"{trade['r']:.3f}"
        assert cell["cost in R"] == f"{trade['cost_r']:.3f}"


def test_every_chart_has_words_for_those_who_cannot_see_it(chromium, page_file):
    """Each has a label, a caption and its numbers as a table."""
    with open_page(chromium, page_file) as page:
        labels = page.page.eval_on_selector_all(
            "figure:not([hidden]) .plot", "all => all.map(p => p.getAttribute('aria-label'))"
        )
        assert len(labels) > 20
        assert all(label and len(label) > 10 for label in labels)
        page.draw_all()
        page.page.click('figure[data-chart="month"] summary')
        rows = page.page.locator('figure[data-chart="month"] details tbody tr')
        rows.first.wait_for()
        assert rows.count() > 1
        page.page.click('figure[data-chart="heatmap"] summary')
        table = page.page.locator('figure[data-chart="heatmap"] details table')
        table.locator("tbody tr").first.wait_for()
        assert table.locator("tbody tr").count() > 1
        assert "NaN" not in table.inner_text()
        *genes, last = table.locator("th").all_inner_texts()
        assert all(name in page.text("#genes") for name in genes)
        assert last == "value"


@pytest.mark.parametrize(
    ("width", "scheme", "is_deep"), [(390, "dark", False), (1280, "light", True)]
)
def test_the_page_draws_everything_and_asks_for_nothing(
    chromium, page_file, width, scheme, is_deep
):
    """No error, no request, every section and chart is there, nothing is wider than the window.

    Where a browser draws no three dimensions, a sentence stands in for that chart.
    """
    with open_page(chromium, page_file, width=width, scheme=scheme, deep=is_deep) as page:
        page.draw_all()
        assert page.page.evaluate("scrollY") == 0
        deep = page.page.locator('figure[data-chart="front3d"]')
        if is_deep:
            deep.locator("details").evaluate("one => { one.open = true; }")
            deep.locator("tbody tr").first.wait_for()
            assert len(deep.locator("tbody tr").first.locator("td").all()) == 4
        else:
            assert deep.locator(".plot").inner_text()
        for section in SECTIONS:
            assert page.page.locator(f"#{section}").is_visible(), section
        for chart in CHARTS:
            place = page.page.locator(f'figure[data-chart="{chart}"] .plot .main-svg')
            assert (place.count() > 0) == (is_deep or chart != "front3d"), chart
        page.page.click('figure[data-chart="answer"] summary')
        page.page.locator('figure[data-chart="answer"] tbody tr').first.wait_for()


def test_the_account_of_a_member_has_boxes_to_tick(chromium, run, page_file):
    """Log axis and benchmark are boxes to tick; trades leave as `backtest --trades` writes them."""
    plot = 'figure[data-chart="equity"] .plot'
    with open_page(chromium, page_file) as page:
        page.draw_all()
        assert page.page.eval_on_selector(plot, "plot => plot.layout.yaxis.type") == "log"
        assert "buy and hold" in page.legend("equity")
        page.page.uncheck("#log")
        page.page.uncheck("#hold")
        page.page.click("#front-table tbody tr:last-child")
        assert page.page.eval_on_selector(plot, "plot => plot.layout.yaxis.type") == "linear"
        assert "buy and hold" not in page.legend("equity")
        rows = page.texts("#drawdowns tbody tr")
        depths = [f"{depth:.2%}" for depth in run.drawdowns(len(run.front) - 1)["depth"]]
        assert [row.split()[0] for row in rows] == depths
        ledgers = run.engine.trades(run.genomes[-1])
        assert page.download("#csv") == format_csv(
            *build_ledger_table(run.task, run.genomes[-1], ledgers)
        )


def test_a_click_on_the_front_shows_the_trades_of_that_member(chromium, run, page_file):
    """The point of a member leads to its metrics and its trades."""
    member = len(run.front) - 1
    with open_page(chromium, page_file) as page:
        page.draw_all()
        points = page.page.locator('figure[data-chart="front"] .points path')
        assert points.count() == len(run.front)
        points.nth(member).click(force=True)
        page.page.wait_for_function(f"location.hash === '#member={member}'")
        trades = run.trades(member)
        assert page.text("#chosen").startswith(f"Member {member}")
        assert page.text("#trade-count").startswith(f"{len(trades)} of {len(trades)} trades")
        titles = page.texts("#trade-table thead th")
        cells = page.texts("#trade-table tbody tr:first-child td")
        first = dict(zip(titles, cells, strict=True))
        assert first["entered"] == str(trades["entry_time"][0])[:16]
        assert first["R"] == f"{trades['r'][0]:.3f}"
        assert [
            line for part in page.texts("#metrics, #other-metrics") for line in part.splitlines()
        ] == shown_metrics(run, member)


@pytest.mark.parametrize(("grade", "width"), [("luck", 390), ("holds", 1280)])
def test_all_evidence_is_on_the_page(chromium, run, tmp_path, grade, width):
    """Verdict, pick, reasons, rows, folds and charts, as far as they are known, never too wide."""
    shutil.copytree(run.path, tmp_path / grade)
    verdict = record_judgement(tmp_path / grade, judgement(grade)).verdict
    page_file = write_report(load_run(str(tmp_path / grade)))
    with open_page(chromium, page_file, width=width) as page:
        page.draw_all()
        market, word, sentence, step = filter(None, page.text(".answer").splitlines())
        assert (market, word) == ("On a simulated market", GRADE_WORDS[grade].capitalize())
        known = verdict.sentence.removeprefix(f"{market}: ").partition(" Next: ")[0]
        assert sentence.lower() == known.removeprefix(f"{word}: ").lower()
        assert step.startswith("Next: ")
        assert "Member 0" in page.text("#pick")
        assert page.texts("#reasons li") == list(verdict.reasons)
        speaks = page.page.eval_on_selector_all(
            "#rows tr", "all => all.map(row => row.dataset.speaks)"
        )
        first = "for" if grade == "luck" else "against"
        assert speaks[: speaks.count(first)] == [first] * speaks.count(first)
        evidence = page.text("#rows")
        nowhere = page.page.eval_on_selector_all(
            'a[href^="#"]', "all => all.filter(a => !document.querySelector(a.hash)).length"
        )
        assert nowhere == 0
        assert page.page.locator('#rows a[href="#term-folds"]').count() == 1
        assert "41 of 52 near neighbours" in evidence
        assert "60 cuts, 0 differences" in evidence
        assert page.page.locator("#folds tbody tr").count() == 2
        assert page.page.locator('figure[data-chart="at_costs"] .main-svg').count() > 0
        assert page.page.locator('figure[data-chart="null"] .main-svg').count() > 0


MARKUP = "</script><img src=x onerror=alert(1)><b>bold</b>"
HOSTILE = {
    "text": "=</script><img src=x onerror=alert(1)>{{ 7*7 }}${alert(1)} 🦊 日本",
    "key": "__proto__",
}
"""What a page, a table or a template, and a script would take for more than a name."""


def rename_run(run, name, strategy, folder):
    """A copy of a run in a folder, everything that has a name called otherwise."""
    task = run.task
    markets = Markets(
        tuple(replace(bars, symbol=name) for bars in task.markets.series), task.markets.windows
    )
    run.task = replace(task, markets=markets, spec=replace(task.spec, name=strategy))
    run.header = replace(run.header, data=f"{name} 15m", strategy=strategy, notes=(name,))
    run.result = replace(run.result, strategy=strategy)
    run.path = shutil.copytree(run.path, folder / (name.replace("/", "") or "x"))
    return run


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_names_and_words_are_text(chromium, example_run, tmp_path, kind):
    """No name, reason or note makes an element, runs, or is hidden."""
    name = HOSTILE[kind]
    path = shutil.copytree(example_run, tmp_path / "judged")
    record_judgement(path, replace(judgement("holds", why=MARKUP), notes=(MARKUP,)))
    run = load_run(str(path))
    page = write_report(
        rename_run(run, name, f"{name} strategy", tmp_path), tmp_path / "report.html"
    )
    with open_page(chromium, page) as report:
        report.draw_all()
        assert report.page.locator("main img, main b, header b").count() == 0
        assert report.page.locator("script").count() == 4
        assert name in report.text(".eyebrow")
        assert name in report.text("#evidence .facts")
        for place in ("#rows", "#folds"):
            assert "onerror=alert(1)" in report.text(place)


def test_a_run_in_which_nothing_traded_says_so(chromium, tmp_path):
    """An empty front is a page with a sentence, no chart of members and no error."""
    spec = write_market(tmp_path / "flat.csv", flat=1.0)
    run = load_run(str(record_run(tmp_path / "runs", data=[spec])))
    with open_page(chromium, write_report(run)) as page:
        page.draw_all()
        assert "The front is empty" in page.text("#front")
        assert page.page.locator("#gene-fans .main-svg").count() > 0
        assert "rejected" in page.text(".cautions").lower()


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
        marks = chart.locator(".plot").evaluate("plot => plot.data[4].y")
        assert list(marks)[:1] == [at]
        told = ", ".join(f"{aim:.6g} ({100 * share:g}%)" for aim, share in list_aims(trades, k))
        assert f", target {told}, " in sentence
        lines = chart.locator(".plot").evaluate("plot => plot.data[2].y")
        drawn = [line for line in lines if line is not None][::2]
        assert drawn == [aim for aim, _ in list_aims(trades, k)]
        expected = format_csv(*build_ledger_table(task, single.genomes[0], ledgers))
        assert page.download("#csv") == expected
