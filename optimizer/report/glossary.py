"""Meanings of the words of a page; those of metrics are `optimizer.formatting.MEANINGS`."""

from collections.abc import Mapping

from optimizer.formatting import HELD_OUT, MEANINGS
from optimizer.report.account import SHARPE_DAYS
from optimizer.report.charts.chart import words
from optimizer.report.tables import Tables

TERMS = {
    "buy and hold": "bought at the first close of the searched bars, entry cost paid, and kept",
    "cost in R": "what fee and slippage took of a trade, in R",
    "drawdown": "how far equity lies below its peak, after each trade; its bars are those from the "
    "peak to the recovery, or else to the last bar",
    "equity": "value of an account that begins at 1 and puts --risk-fraction of it at risk a trade",
    "ended by": "why a trade ended: stop, margin (the account was lost), target, time, "
    "a signal, the session or the last bar",
    "R": "what a trade puts at risk, from entry to first stop; a result of 2 R is twice that",
    "rolling sharpe": f"the daily Sharpe ratio of the {SHARPE_DAYS} days with bars up to each day",
    "sharpe a day": "mean R of the trades closed on a day over its standard deviation, per day",
}

OF_A_SEARCH = {
    "certificate": "the front replayed by the readable reference: do the engines agree, to the bit",
    "distinct": "a candidate counts once; one that died out may come again and be evaluated anew",
    "evaluated": "backtested on the bars of the search, in a generation or in polishing",
    "front": "candidates that no other one beats in every objective",
    "gene": "a number of the strategy that the search may change, within bounds",
    "held out": "bars that the search never sees; looked at only when asked, and counted",
    "hypervolume": "volume of objectives that a front dominates; it rises while a search finds",
    "in-sample": "on the bars that were searched, where every result is chosen to look good",
    "knee": "the member that lies closest to the best of all objectives at once",
    "member": "a candidate of the front; 0 is the best in the first objective",
    "pick": "the member of greatest strength, named before any unseen bar is looked at",
    "polishing": "neighbours of the final front are evaluated, and the better ones kept",
}

OF_EVIDENCE = {
    "all trials": "Hansen's test (SPA): could the best of blindly chosen trials be luck",
    "costs": "at which fee and slippage a side nothing would be left",
    "DSR": "deflated Sharpe ratio: PSR after as many tries as were made",
    "drift": "are trades since worse than those that the run is judged by; 20 is an alarm",
    "efficiency": "mean daily R of a fold's pick on unseen bars over that on searched ones",
    "folds": "the search made anew on parts of the bars, its pick judged on the bars after them",
    "halves": "does what is best in one half of the bars stay good in the other (PBO by CSCV)",
    "late entries": "the pick with every entry one bar later",
    "left out": "the pick without one of the symbols, or without one quarter of the time",
    "look-ahead": "do trades change when later bars are cut off; they must not",
    "mirrored bars": "the real bars, by chance turned about their mean: did direction matter",
    "neighbours": "candidates whose genes differ a little from the pick's",
    "other orders": "drawdowns of the same trades in other orders",
    "p": "how often luck alone does as well in the test that is named; small is unlike luck",
    "PSR": "probabilistic Sharpe ratio: chance that it lies above 0, were it the only one tried",
    "searches": "fronts searched on the same bars; each is one more try to be lucky",
    "shuffled bars": "markets made of the real bars in another order, where no edge can be",
    "trials": "distinct candidates that the search evaluated; those with enough trades are judged",
    "within a bar": "trades whose stop lies in one bar with a target or a fill: which came first?",
}


def terms(run: Tables) -> dict[str, str]:
    """Every term of a run's page and what it means, in the order of the alphabet."""
    names = [str(name).removeprefix(HELD_OUT) for name in run.front.columns] if run.members else []
    definitions: Mapping[str, str] = {
        **{words(name): formula for name, formula in run.header.formulas.items()},
        **{words(name): MEANINGS[name] for name in names if name in MEANINGS},
        **TERMS,
        **(OF_A_SEARCH if run.is_search else {}),
        **({} if run.judgement is None else OF_EVIDENCE),
    }
    return dict(sorted(definitions.items(), key=lambda term: term[0].lower()))


def anchor(term: str) -> str:
    """Anchor of a term on the page."""
    return "term-" + term.replace(" ", "-")
