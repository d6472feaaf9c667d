"""The report in a real browser: it draws everything, asks for nothing, and answers clicks."""

import shutil

import pytest

from optimizer import load_run
from optimizer.cli.backtest_tables import build_ledger_table
from optimizer.cli.console import format_csv
from optimizer.formatting import MEANINGS, metric
from optimizer.grades import GRADE_WORDS, GRADES
from optimizer.report import write_report
from optimizer.report.model import choose_members
from tests.support.browser import ALL_DRAWN, open_page
from tests.support.judged import judgement, record_judgement
from tests.support.runs import record_run

pytestmark = pytest.mark.slow

SECTIONS = ("verdict", "evidence", "front", "candidate", "trades", "search", "glossary")
CHARTS = (
    "answer",
    "front",
    "front3d",
    "parallel",
    "equity",
    "price",
    "trade",
    "distribution",
    "reason",
    "month",
    "heatmap",
    "sharpe",
    "weekday",
    "hour",
    "costs",
)


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
        assert page.errors == []
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


def test_the_theme_can_be_changed_and_the_page_printed(chromium, page_file):
    """The button turns the page dark; once it is loaded, printing draws every chart."""
    with open_page(chromium, page_file) as page:
        before = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.page.click("#theme")
        after = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert before != after
        page.page.reload()
        assert page.page.evaluate(f"dispatchEvent(new Event('beforeprint')) && ({ALL_DRAWN})()")
        assert page.errors == []


def test_charts_fit_on_paper_that_is_narrower_than_the_window(chromium, page_file):
    """Each fills its place and reaches out of no frame; then the screen has its sizes again."""
    reach = """() => [...document.querySelectorAll('svg.main-svg, .plot canvas')].filter(one =>
        one.getBoundingClientRect().width
        && one.getBoundingClientRect().right > one.closest('figure').getBoundingClientRect().right
    ).length"""
    blank = """() => [...document.querySelectorAll('.svg-container')].filter(one => {
        const { width, height } = one.getBoundingClientRect();
        const form = one.querySelector('svg.main-svg').viewBox.baseVal;
        return Math.abs(height - width * form.height / form.width) > 1;
    }).length"""
    with open_page(chromium, page_file) as page:
        page.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.page.emulate_media(media="print")
        page.page.evaluate("document.body.style.width = '740px'")
        assert page.page.locator("svg.main-svg").count() > 20
        assert page.page.evaluate(reach) == 0
        assert page.page.evaluate(blank) == 0
        assert page.page.evaluate(
            "[...document.querySelectorAll('.modebar-container')].every(one => !one.offsetHeight)"
        )
        page.page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.page.locator("svg.main-svg[viewBox]").count() == 0
        assert page.errors == []


def test_nothing_moves_while_charts_are_drawn(chromium, page_file):
    """Each has its room before; what a reader is about to click on stays where it is."""
    heights = """() => [...document.querySelectorAll("figure[data-chart]:not([hidden])")]
        .filter((figure) => !figure.closest("details.more"))
        .map((figure) => [figure.dataset.chart, figure.getBoundingClientRect().height])"""
    with open_page(chromium, page_file, width=390) as page:
        before = page.page.evaluate(heights)
        page.draw_all()
        assert len(before) > 5
        assert page.page.evaluate(heights) == before


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
        assert page.errors == []


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_the_page_draws_everything_and_asks_for_nothing(chromium, page_file, width, scheme):
    """No error, no request, every section and chart is there, nothing is wider than the window."""
    with open_page(chromium, page_file, width=width, scheme=scheme, deep=True) as page:
        page.draw_all()
        assert page.page.evaluate("scrollY") == 0
        deep = page.page.locator('figure[data-chart="front3d"] details')
        deep.evaluate("one => { one.open = true; }")
        deep.locator("tbody tr").first.wait_for()
        assert len(deep.locator("tbody tr").first.locator("td").all()) == 4
        assert page.errors == []
        assert page.requests == []
        for section in SECTIONS:
            assert page.page.locator(f"#{section}").is_visible(), section
        for chart in CHARTS:
            place = page.page.locator(f'figure[data-chart="{chart}"] .plot .main-svg')
            assert place.count() > 0, chart
        assert page.page.evaluate("document.documentElement.scrollWidth") == width
        covered = page.page.eval_on_selector_all("figure:not([hidden])", COVERED)
        assert covered == []


COVERED = """figures => figures.filter(figure => {
    const box = (name) => figure.querySelector(name).getBoundingClientRect();
    const words = document.createRange();
    words.selectNodeContents(figure.querySelector("summary"));
    const bar = box(".modebar");
    return !bar.width || bar.top < box(".plot").bottom - 1 || bar.bottom > box("details").bottom + 8
        || bar.left < words.getBoundingClientRect().right;
}).map(figure => figure.dataset.chart)"""
"""Charts whose toolbar is not beside the words below the chart."""


def test_the_account_of_a_member_has_boxes_to_tick(chromium, run, page_file):
    """Log axis and benchmark are boxes to tick; trades leave as `backtest --trades` writes them."""
    plot = 'figure[data-chart="equity"] .plot'
    with open_page(chromium, page_file) as page:
        page.draw_all()
        # Where a browser draws no three dimensions, a sentence stands in for that chart.
        assert page.page.locator('figure[data-chart="front3d"] .plot .main-svg').count() == 0
        assert page.text('figure[data-chart="front3d"] .plot')
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
        assert page.errors == []


def test_a_link_to_a_member_shows_it_or_the_command_that_does(chromium, run, tmp_path, monkeypatch):
    """A page names some members; of others, and of numbers beyond the front, a sentence says so."""
    monkeypatch.setattr("optimizer.report.model.MOST_MEMBERS", 1)
    named, count = choose_members(run, None).named, len(run.members)
    absent = next(member for member in range(count) if member not in named)
    file = write_report(run, tmp_path / "few.html")
    command = f"python -m optimizer report {run.path} --member {absent}"
    sentences = {f"#member={absent}": command, f"#member={count}": f"0 to {count - 1}"}
    with open_page(chromium, file) as page:
        for link, sentence in sentences.items():
            page.page.evaluate(f"location.hash = {link!r}")
            page.page.wait_for_function(
                "words => document.getElementById('chosen').textContent.includes(words)",
                arg=sentence,
            )
            assert not page.page.is_visible("#detail")
        page.page.evaluate(f"location.hash = '#member={named[-1]}'")
        page.page.wait_for_function(
            f"document.getElementById('chosen').textContent.startsWith('Member {named[-1]}')"
        )
        assert page.page.is_visible("#detail")
        assert page.errors == []


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
        assert page.errors == []


def test_every_grade_has_its_colour(chromium, page_file):
    """Red, amber and green-blue differ in both themes; the grade is a word too."""
    red, amber = {"invalid", "too_little", "luck", "lost"}, {"weak", "not_judged"}
    with open_page(chromium, page_file) as page:
        assert page.text(".answer .grade") == "Not judged"
        for scheme in ("light", "dark"):
            page.page.emulate_media(color_scheme=scheme)
            colours = page.page.locator(".answer").evaluate(
                "(one, all) => all.map(grade => {"
                "one.dataset.grade = grade; return getComputedStyle(one).color; })",
                list(GRADES),
            )
            colours = dict(zip(GRADES, colours, strict=True))
            for group in (red, amber, set(GRADES) - red - amber):
                assert len({colours[grade] for grade in group}) == 1
            assert len(set(colours.values())) == 3


@pytest.mark.parametrize(("grade", "width"), [("luck", 390), ("holds", 1280)])
def test_all_evidence_is_on_the_page(chromium, run, tmp_path, grade, width):
    """Verdict, pick, reasons, rows, folds and charts, as far as they are known, never too wide."""
    shutil.copytree(run.path, tmp_path / grade)
    verdict = record_judgement(tmp_path / grade, judgement(grade)).verdict
    page_file = write_report(load_run(str(tmp_path / grade)))
    with open_page(chromium, page_file, width=width) as page:
        page.draw_all()
        assert page.errors == []
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
        assert page.page.evaluate("document.documentElement.scrollWidth") == width


def test_a_page_without_a_judgement_names_the_command(chromium, run, page_file):
    """The command stands where the verdict would; there is no row of evidence."""
    with open_page(chromium, page_file) as page:
        command = f"python -m optimizer judge {run.path} --null 199"
        assert f"Next: {command}" in page.text(".answer .step")
        assert page.page.locator("#rows, #folds").count() == 0
