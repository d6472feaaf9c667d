"""The verdict is the first that applies, in the words of the law, and says no more."""

import re
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.evidence.compared import Tally
from optimizer.evidence.figures import Figure, undefined
from optimizer.evidence.robust import CHECKS
from optimizer.evidence.unseen import Unseen
from optimizer.evidence.verdict import GRADES, Facts, decide

RARE = Tally(199, 0, is_stopped=False)
LUCKY = Tally(20, 10, is_stopped=True)
GAIN = Unseen(40, 25, Figure(0.123), Figure(0.99))
LOSS = Unseen(40, 25, Figure(-0.05), Figure(0.3))
UNSURE = Unseen(40, 25, Figure(0.02), Figure(0.6))
ALL = dict.fromkeys(CHECKS, True)

BEST = Facts(
    is_certified=True,
    differences=0,
    members=12,
    trades=130,
    command="optimizer judge latest --null 199",
    seconds=41.2,
    shuffled=RARE,
    mirrored=RARE,
    held_out=GAIN,
    folds=GAIN,
    checks=ALL,
)

WEAK = "Weak: more than luck on the bars searched, not confirmed elsewhere."
ON_UNSEEN = "0.12 R a trade over 40 trades on bars the search had not seen"


def test_the_best_case_is_robust():
    """Everything confirms, and all checks hold."""
    verdict = decide(BEST)
    assert (verdict.grade, verdict.sentence) == ("robust", "Holds out of sample, and around it.")


@pytest.mark.parametrize(
    "changes", [{"is_certified": False}, {"differences": 2}], ids=["red", "ahead"]
)
def test_what_cannot_be_trusted_has_no_verdict(changes):
    """Whatever else is known."""
    verdict = decide(replace(BEST, **changes))
    assert verdict.grade == "invalid"
    assert verdict.sentence == "No verdict: the result cannot be trusted."
    assert len(verdict.reasons) == 1


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"members": 0, "trades": 0}, "the front is empty."),
        ({"trades": 29}, "the pick has 29 trades, 30 are needed."),
        ({"trades": 1}, "the pick has 1 trade, 30 are needed."),
    ],
    ids=["empty", "few", "one"],
)
def test_too_few_trades_are_too_little(changes, why):
    """Thirty are enough."""
    verdict = decide(replace(BEST, **changes, shuffled=None))
    assert (verdict.grade, verdict.sentence) == ("too_little", f"Too little to judge: {why}")
    assert decide(replace(BEST, trades=30)).grade == "robust"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"shuffled": None, "mirrored": None}, "Not judged yet"),
        ({"shuffled": Tally(98, 0, is_stopped=False)}, "98 searches on shuffled bars"),
        ({"shuffled": Tally(9, 9, is_stopped=False)}, "9 searches on shuffled bars"),
        ({"mirrored": None}, "0 searches on mirrored bars"),
        ({"mirrored": Tally(98, 0, is_stopped=False)}, "98 searches on mirrored bars"),
    ],
    ids=["none", "few", "few-and-hopeless", "no-mirror", "few-mirrors"],
)
def test_without_enough_null_searches_it_is_not_judged(changes, said):
    """Ninety-nine of each kind, unless so many were as good that it stopped; it says how many."""
    verdict = decide(replace(BEST, **changes))
    assert verdict.grade == "not_judged"
    if said != "Not judged yet":
        said = f"Too few null searches to judge: {said}, 99 are needed"
    assert verdict.sentence == f"{said}: optimizer judge latest --null 199 takes about 42 s."


def test_ninety_nine_null_searches_are_enough():
    """With none as good, p is 0.01, and that is not luck."""
    enough = Tally(99, 0, is_stopped=False)
    assert decide(replace(BEST, shuffled=enough, mirrored=enough)).grade == "robust"
    one = Tally(99, 1, is_stopped=False)
    assert decide(replace(BEST, shuffled=one, mirrored=enough)).grade == "luck"
    assert (
        decide(replace(BEST, shuffled=RARE, mirrored=Tally(199, 2, is_stopped=False))).grade
        == "luck"
    )
    assert (
        decide(replace(BEST, shuffled=RARE, mirrored=Tally(199, 1, is_stopped=False))).grade
        == "robust"
    )


def test_luck_names_the_searches_that_did_as_well():
    """Mirrored ones are not needed where shuffled ones say it, and say it where they do not."""
    verdict = decide(replace(BEST, shuffled=LUCKY, mirrored=None))
    said = "Consistent with luck: 10 of 20 searches on shuffled bars did as well."
    assert (verdict.grade, verdict.sentence) == ("luck", said)
    verdict = decide(replace(BEST, mirrored=LUCKY))
    assert verdict.sentence.endswith("10 of 20 searches on mirrored bars did as well.")
    assert verdict.reasons == ("10 of 20 searches on mirrored bars did as well (p = 0.5).",)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"folds": None, "held_out": None}, "There are neither folds nor held-out bars."),
        ({"folds": UNSURE, "held_out": None}, "Neither folds nor held-out bars confirm it."),
        ({"folds": LOSS}, "Searching in folds did not gain: -0.05 R a trade over 40 trades."),
        (
            {"held_out": LOSS},
            "The pick on held-out bars did not gain: -0.05 R a trade over 40 trades.",
        ),
        ({"searches": 11}, "11 searches were made on these bars, which needs 219 null searches."),
        ({"is_warm_started": True}, "It began from a run on bars that overlap these."),
        (
            {"is_approximate": True, "held_out": None},
            "Forecasts were not fitted again on null bars, so that p is approximate.",
        ),
    ],
    ids=["nothing", "unsure", "folds-lose", "held-out-loses", "many", "warm", "forecast"],
)
def test_what_is_not_confirmed_elsewhere_is_weak(changes, reason):
    """Each reason alone is enough, and comes first."""
    facts = replace(BEST, **changes)
    verdict = decide(facts)
    assert (verdict.grade, verdict.sentence) == ("weak", WEAK)
    assert verdict.reasons[0] == reason
    assert verdict.reasons[-1] == "0 of 199 searches on mirrored bars did as well (p = 0.005)."


def test_ten_searches_on_the_same_bars_are_not_too_many():
    """Ten times a two-hundredth is a twentieth, exactly."""
    assert decide(replace(BEST, searches=10, folds=None)).grade == "robust"


def test_forecasts_may_hold_with_held_out_bars():
    """Their approximate p is then not all there is."""
    assert decide(replace(BEST, is_approximate=True)).grade == "robust"


@pytest.mark.parametrize(
    "unseen",
    [
        replace(GAIN, trades=29),
        replace(GAIN, closing_days=19),
        replace(GAIN, psr=Figure(0.949)),
        replace(GAIN, psr=undefined("all days are equal")),
    ],
    ids=["trades", "days", "psr", "no-psr"],
)
def test_what_confirms_needs_all_of_it(unseen):
    """Trades, closing days, and a sure enough ratio."""
    assert decide(replace(BEST, held_out=unseen, folds=None)).grade == "weak"
    least = Unseen(30, 20, Figure(1e-9), Figure(0.95))
    assert least.confirms(1)
    assert replace(least, psr=Figure(0.99)).confirms(5)


def test_looks_and_searches_make_it_harder():
    """Held-out bars by looks, folds by searches, each for itself."""
    assert GAIN.confirms(4)
    assert not GAIN.confirms(6)
    assert decide(replace(BEST, looks=6, folds=None)).grade == "weak"
    assert decide(replace(BEST, looks=6)).grade == "robust"
    assert decide(replace(BEST, searches=6, held_out=None)).grade == "weak"


def test_no_trades_out_of_sample_do_not_contradict():
    """They confirm nothing either."""
    none = Unseen(0, 0, undefined("no trades"), undefined("all days are equal"))
    assert decide(replace(BEST, held_out=none)).grade == "robust"
    assert decide(replace(BEST, held_out=none, folds=None)).grade == "weak"


def test_what_holds_says_by_how_much():
    """The pick on held-out bars, or this way of searching in folds."""
    facts = replace(BEST, checks=ALL | {"delay": False})
    assert decide(facts).grade == "holds"
    assert decide(facts).sentence == f"Holds out of sample: {ON_UNSEEN}."
    assert decide(facts).reasons[0] == "Around it: delay did not pass."
    only_folds = replace(facts, held_out=UNSURE)
    assert decide(only_folds).sentence == f"Searching this way held out of sample: {ON_UNSEEN}."
    robust = replace(only_folds, checks=ALL)
    said = f"Searching this way held out of sample: {ON_UNSEEN}, and around it."
    assert decide(robust).sentence == said


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_is_needed_to_be_robust(name):
    """One that was not made does not pass."""
    missing = {key: True for key in CHECKS if key != name}
    assert decide(replace(BEST, checks=missing)).grade == "holds"


def test_a_simulated_market_is_named_first():
    """Before any sentence."""
    verdict = decide(replace(BEST, is_simulated=True))
    assert verdict.sentence == "On a simulated market: Holds out of sample, and around it."


tallies = st.sampled_from(
    [None, RARE, LUCKY, Tally(50, 0, is_stopped=False), Tally(199, 1, is_stopped=False)]
)
unseen = st.sampled_from([None, GAIN, LOSS, UNSURE])
cases = st.builds(
    replace,
    st.just(BEST),
    is_certified=st.booleans(),
    differences=st.sampled_from([0, 3]),
    trades=st.sampled_from([12, 300]),
    shuffled=tallies,
    mirrored=tallies,
    folds=unseen,
    held_out=unseen,
    looks=st.integers(1, 9),
    searches=st.integers(1, 30),
    is_warm_started=st.booleans(),
    is_approximate=st.booleans(),
    is_simulated=st.booleans(),
    checks=st.sampled_from([ALL, {}, ALL | {"costs": False}]),
)

NEVER = (
    r"\b(profitabl\w*|proven?|proof|safe\w*|will|significan\w*|probabilit\w*|chance|guarant\w*"
    r"|PBO|overfit\w*)\b"
)


def test_never_said():
    """Over every combination of facts, no word that promises."""
    options = product(
        (True, False),
        (12, 300),
        (None, RARE, LUCKY),
        (None, RARE, LUCKY),
        (None, GAIN, LOSS, UNSURE),
        (None, GAIN, LOSS, UNSURE),
        (1, 11),
        (True, False),
        (ALL, {}),
    )
    names = (
        "is_certified",
        "trades",
        "shuffled",
        "mirrored",
        "folds",
        "held_out",
        "searches",
        "is_approximate",
        "checks",
    )
    grades = set()
    for option in options:
        verdict = decide(replace(BEST, **dict(zip(names, option, strict=True))))
        grades.add(verdict.grade)
        for text in (verdict.sentence, *verdict.reasons):
            assert not re.search(NEVER, text, re.IGNORECASE), text
    assert grades == set(GRADES)


@given(cases)
def test_more_than_weak_needs_bars_that_the_search_had_not_seen(facts):
    """And no more than weak where something contradicts."""
    verdict = decide(facts)
    assert verdict.grade in GRADES
    if verdict.grade in ("holds", "robust"):
        seen = [one for one in (facts.folds, facts.held_out) if one is not None]
        assert GAIN in seen
        assert LOSS not in seen
        assert not facts.is_warm_started
        assert facts.searches <= 10
    assert verdict.sentence.startswith("On a simulated market: ") == facts.is_simulated


@given(cases)
def test_losing_a_confirmation_never_improves_the_grade(facts):
    """Evidence out of sample can only be missed."""
    for name in ("folds", "held_out"):
        worse = replace(facts, **{name: LOSS})
        assert GRADES.index(decide(worse).grade) <= GRADES.index(decide(facts).grade)
