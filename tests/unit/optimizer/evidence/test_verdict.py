"""The verdict is the first that applies, in the words of the law, and no more."""

import re
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.evidence.figures import Figure, make_undefined
from optimizer.evidence.null import Tally
from optimizer.evidence.out_of_sample import Unseen
from optimizer.evidence.robust import CHECKS
from optimizer.evidence.verdict import Facts, ScheduleFacts, decide
from optimizer.grades import GRADES

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
    strength=2.9,
    mean_r=0.31,
    shuffled=RARE,
    mirrored=RARE,
    held_out=GAIN,
    folds=GAIN,
    checks=ALL,
)

WEAK = "More than luck on the bars searched (p = 0.005), not confirmed elsewhere: "
ON_UNSEEN = "on bars the search had not seen: 0.12 R a trade over 40 trades"
NEXT = "Next: optimizer judge latest --null 199 (about 42 s)."
SO_FAR = (
    "So far: folds and held-out bars together gained 0.12 R a trade over 80 trades "
    "(folds 0.12 R over 40, held-out bars 0.12 R over 40)."
)


def test_the_best_case_is_robust():
    """Everything confirms, and all checks hold."""
    verdict = decide(BEST)
    assert (verdict.grade, verdict.sentence) == ("robust", f"Held {ON_UNSEEN}, and around it.")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"is_certified": False}, "the reference and the engine disagree"),
        ({"differences": 1}, "1 difference between trades with and without later bars"),
        (
            {"gone": "2024-01-01 03:00"},
            "the account stood at nothing on 2024-01-01 03:00 UTC, before that trade ended",
        ),
        ({"differences": 2}, "2 differences between trades with and without later bars"),
    ],
    ids=["red", "ahead", "gone", "twice"],
)
def test_what_cannot_be_trusted_has_no_verdict(changes, why):
    """Whatever else is known; the headline has the reason."""
    verdict = decide(replace(BEST, **changes))
    assert (verdict.grade, verdict.sentence) == ("invalid", f"Do not use this result: {why}.")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"members": 0, "trades": 0}, "the front is empty."),
        ({"trades": 29}, "29, 30 are needed."),
        ({"trades": 1}, "1, 30 are needed."),
    ],
    ids=["empty", "few", "one"],
)
def test_too_few_trades_are_too_little(changes, why):
    """Thirty are enough."""
    verdict = decide(replace(BEST, **changes, shuffled=None))
    assert (verdict.grade, verdict.sentence) == ("too_little", f"Too few trades to judge: {why}")
    assert decide(replace(BEST, trades=30)).grade == "robust"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shuffled": None, "mirrored": None}, ""),
        ({"shuffled": Tally(98, 0, is_stopped=False)}, "98 searches on shuffled bars"),
        ({"shuffled": Tally(9, 9, is_stopped=False)}, "9 searches on shuffled bars"),
        ({"mirrored": None}, "0 searches on mirrored bars"),
        ({"mirrored": Tally(98, 0, is_stopped=False)}, "98 searches on mirrored bars"),
    ],
    ids=["none", "few", "few-and-hopeless", "no-mirror", "few-mirrors"],
)
def test_without_enough_null_searches_it_is_not_judged(changes, message):
    """Ninety-nine of each kind, unless so many were as good that it stopped; what is known."""
    verdict = decide(replace(BEST, **changes))
    assert verdict.grade == "not_judged"
    made = f": {message}, 99 are needed" if message else ""
    assert verdict.sentence == f"Not tested for luck yet{made}. {SO_FAR} {NEXT}"


def test_evidence_at_hand_speaks_before_null_searches():
    """A fold that lost too few trades to decide is named; without any evidence the next step."""
    alone = replace(BEST, shuffled=None, mirrored=None, folds=None, held_out=None)
    assert decide(alone).sentence == f"Not tested for luck yet. {NEXT}"
    few = replace(alone, folds=replace(LOSS, trades=12))
    message = f"Not tested for luck yet. So far: folds lost 0.05 R a trade over 12 trades. {NEXT}"
    assert decide(few).sentence == message


def test_how_long_the_next_step_takes_is_said_in_minutes():
    """From a minute on, as times are said elsewhere."""
    verdict = decide(replace(BEST, shuffled=None, mirrored=None, seconds=239.2))
    assert verdict.sentence.endswith(" --null 199 (about 4 min 0 s).")


@pytest.mark.parametrize("shuffled", [None, RARE], ids=["no-null", "null"])
def test_a_pick_that_loses_needs_no_null_searches(shuffled):
    """On the bars that it was chosen on, which nothing can mend."""
    verdict = decide(replace(BEST, shuffled=shuffled, strength=-5.87, mean_r=-0.61, trades=1159))
    assert (verdict.grade, verdict.sentence) == ("lost", "It loses: 1,159 trades, -0.61 R each.")
    for strength, mean_r, words in ((0.0, 0.0, "0.00 R"), (-0.99, -0.004, "-0.004 R")):
        nought = decide(replace(BEST, shuffled=shuffled, strength=strength, mean_r=mean_r))
        assert nought.grade == "lost"
        assert nought.sentence == f"It gains nothing: 130 trades, {words} each."


NOUGHT = Unseen(393, 200, Figure(-0.004), Figure(0.47), Figure(-0.08))
"""Four thousandths of R below zero: 0.08 standard errors."""

HEAVY = Unseen(400, 200, Figure(-0.1), Figure(0.02), Figure(-2.0))
"""Sum -40 R, root of squares 20 R."""

OPENED = Unseen(100, 60, Figure(0.1), Figure(0.77), Figure(0.8))
"""Held-out bars that are not sure of a gain: sum 10 R, root of squares 12.5 R."""

OPEN = None
"""Neither lost nor confirmed."""


@pytest.mark.parametrize(
    ("folds", "held_out", "message"),
    [
        (LOSS, None, "Lost: -0.05 R a trade over 40 trades (folds)."),
        (None, LOSS, "Lost: -0.05 R a trade over 40 trades (held-out bars)."),
        (replace(LOSS, trades=29), replace(LOSS, trades=1),
         "Lost: folds and held-out bars together -0.05 R a trade over 30 trades "
         "(folds -0.05 R over 29, held-out bars -0.05 R over 1)."),
        # Within a standard error of zero it is no loss.
        (NOUGHT, None, "Nothing gained: -0.004 R a trade over 393 trades (folds)."),
        (replace(NOUGHT, strength=Figure(-1.0)), None,
         "Lost: -0.004 R a trade over 393 trades (folds)."),
        # Evidence adds up: -40 R and 10 R, 1.27 standard errors below zero.
        (HEAVY, None, "Lost: -0.10 R a trade over 400 trades (folds)."),
        (HEAVY, OPENED,
         "Lost: folds and held-out bars together -0.06 R a trade over 500 trades "
         "(folds -0.10 R over 400, held-out bars 0.10 R over 100)."),
        # Of -10 R with a root of squares of 20 R nothing is left.
        (replace(HEAVY, trades=100, strength=Figure(-0.5)), replace(OPENED, trades=110),
         "Nothing gained: folds and held-out bars together 0.005 R a trade over 210 trades "
         "(folds -0.10 R over 100, held-out bars 0.10 R over 110)."),
        # 100 R of 45 R: all together 60 R lie 1.2 standard errors above zero.
        (HEAVY, Unseen(1000, 200, Figure(0.1), Figure(0.94), Figure(100 / 45)), OPEN),
        # Trades elsewhere that confirm, too few that lost, and a gain.
        (LOSS, GAIN, OPEN),
        (replace(LOSS, trades=29), None, OPEN),
        (None, UNSURE, OPEN),
    ],
)  # fmt: skip
@pytest.mark.parametrize("null", [None, RARE], ids=["no-null", "null"])
def test_unseen_bars_on_which_it_does_not_gain_are_lost(folds, held_out, message, null):
    """Of thirty trades together that nothing makes up for, with null searches or without."""
    verdict = decide(replace(BEST, shuffled=null, mirrored=null, folds=folds, held_out=held_out))
    if message is OPEN:
        assert verdict.grade == ("not_judged" if null is None else "weak")
    else:
        message = message.replace(":", " on bars the search had not seen:", 1)
        assert (verdict.grade, verdict.sentence) == ("lost", message)


def test_nought_beside_other_evidence_is_nought():
    """In what is known so far, and beside what speaks against it."""
    few = replace(NOUGHT, trades=12)
    told = decide(replace(BEST, folds=few, held_out=None, shuffled=None)).sentence
    assert "So far: folds gained nothing: -0.004 R a trade over 12 trades." in told
    luck = decide(replace(BEST, shuffled=LUCKY, folds=NOUGHT, held_out=HEAVY))
    assert luck.sentence.endswith("It lost in held-out bars as well. It gained nothing in folds.")
    assert luck.reasons[0] == "Folds gained nothing: -0.004 R a trade over 393 trades."


def test_evidence_that_does_not_confirm_adds_up_in_one_sentence():
    """Folds and held-out bars that gained 8 R and 10 R."""
    folds = Unseen(80, 40, Figure(0.1), Figure(0.9), Figure(1.2))
    verdict = decide(replace(BEST, folds=folds, held_out=OPENED))
    assert verdict.grade == "weak"
    assert verdict.sentence == (
        f"{WEAK}folds and held-out bars together gained 0.10 R a trade over 180 trades "
        "(folds 0.10 R over 80, held-out bars 0.10 R over 100), which is not sure enough."
    )


def test_folds_that_leave_out_a_traded_symbol_do_not_confirm():
    """The reason names it; held-out bars may confirm all the same."""
    facts = replace(BEST, untested=("AAPL",), held_out=None)
    assert decide(facts).sentence == f"{WEAK}no fold tests AAPL, where the pick trades."
    assert decide(replace(facts, held_out=GAIN)).grade == "robust"


def test_ninety_nine_null_searches_are_enough():
    """With none as good, p is 0.01, and that is not luck."""
    enough = Tally(99, 0, is_stopped=False)
    assert decide(replace(BEST, shuffled=enough, mirrored=enough)).grade == "robust"
    single = Tally(99, 1, is_stopped=False)
    assert decide(replace(BEST, shuffled=single, mirrored=enough)).grade == "luck"
    assert (
        decide(replace(BEST, shuffled=RARE, mirrored=Tally(199, 2, is_stopped=False))).grade
        == "luck"
    )
    assert (
        decide(replace(BEST, shuffled=RARE, mirrored=Tally(199, 1, is_stopped=False))).grade
        == "robust"
    )


def test_luck_names_the_searches_that_did_as_well():
    """Mirrored ones are not needed where shuffled ones say it; p stands beside its limit, once."""
    limit = "p = 0.5; more than luck needs 0.01 or less"
    verdict = decide(replace(BEST, shuffled=LUCKY, mirrored=None))
    message = f"Probably luck: 10 of 20 searches on shuffled bars did as well ({limit})."
    assert (verdict.grade, verdict.sentence, verdict.reasons) == ("luck", message, ())
    verdict = decide(replace(BEST, mirrored=LUCKY))
    assert f"10 of 20 searches on mirrored bars did as well ({limit})." in verdict.sentence
    near = decide(replace(BEST, shuffled=Tally(199, 2, is_stopped=False)))
    assert "(p = 0.015; more than luck needs 0.01 or less)" in near.sentence
    nearest = decide(replace(BEST, shuffled=Tally(997, 10, is_stopped=True)))
    assert "(p = 0.0100301; more than luck needs 0.01 or less)" in nearest.sentence


def test_luck_adds_who_lost():
    """By name in the headline, by how much in the reasons."""
    verdict = decide(replace(BEST, shuffled=LUCKY, folds=LOSS))
    assert verdict.sentence.endswith("It lost in folds as well.")
    assert verdict.reasons == ("Folds lost: -0.05 R a trade over 40 trades.",)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"folds": None, "held_out": None}, "there are neither folds nor held-out bars."),
        ({"folds": UNSURE, "held_out": None}, "neither folds nor held-out bars are sure enough."),
        ({"folds": LOSS}, "folds lost: -0.05 R a trade over 40 trades."),
        ({"held_out": LOSS}, "held-out bars lost: -0.05 R a trade over 40 trades."),
        ({"searches": 11}, "11 searches were made on these bars, which needs 219 null searches."),
        ({"is_warm_started": True}, "it began from a run on bars that overlap these."),
        (
            {"is_approximate": True, "held_out": None},
            "forecasts were not fitted again on null bars, so that p is approximate.",
        ),
    ],
    ids=["nothing", "unsure", "folds-lose", "held-out-loses", "many", "warm", "forecast"],
)
def test_what_is_not_confirmed_elsewhere_is_weak(changes, reason):
    """Each reason alone is enough, and stands in the headline."""
    facts = replace(BEST, **changes)
    verdict = decide(facts)
    assert (verdict.grade, verdict.sentence) == ("weak", f"{WEAK}{reason}")


def test_more_null_searches_are_not_asked_for_where_one_did_as_well():
    """199 are more than the 119 that six searches need where none does."""
    verdict = decide(replace(BEST, mirrored=Tally(199, 1, is_stopped=False), searches=6))
    why = "6 searches were made on these bars, which needs p x 6 of 0.05 or less, not 0.06."
    assert verdict.sentence.endswith(f"(p = 0.01), not confirmed elsewhere: {why}")


@pytest.mark.parametrize(
    ("mean_r", "words"), [(-0.004, "-0.004 R"), (-0.00001, "-1e-05 R"), (0.0, "0.00 R")]
)
def test_a_small_loss_is_not_said_to_be_none(mean_r, words):
    """Two decimals where they show it, one digit elsewhere."""
    losing = replace(LOSS, mean_r=Figure(mean_r))
    assert f"folds lost: {words} a trade" in decide(replace(BEST, folds=losing)).sentence


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
        replace(GAIN, psr=make_undefined("all days are equal")),
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
    none = Unseen(0, 0, make_undefined("no trades"), make_undefined("all days are equal"))
    assert decide(replace(BEST, held_out=none)).grade == "robust"
    assert decide(replace(BEST, held_out=none, folds=None)).grade == "weak"


def test_what_holds_says_by_how_much():
    """The pick on held-out bars, or this way of searching in folds."""
    facts = replace(BEST, checks=ALL | {"delay": False})
    assert decide(facts).grade == "holds"
    assert decide(facts).sentence == f"Held {ON_UNSEEN}."
    assert decide(facts).reasons[0] == "Around it: delay did not pass."
    only_folds = replace(facts, held_out=UNSURE)
    assert decide(only_folds).sentence == f"Searching this way held {ON_UNSEEN}."
    robust = replace(only_folds, checks=ALL)
    message = f"Searching this way held {ON_UNSEEN}, and around it."
    assert decide(robust).sentence == message


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_is_needed_to_be_robust(name):
    """One that was not made does not pass."""
    missing = {key: True for key in CHECKS if key != name}
    assert decide(replace(BEST, checks=missing)).grade == "holds"


def test_a_simulated_market_is_named_first():
    """Before any sentence."""
    verdict = decide(replace(BEST, is_simulated=True))
    assert verdict.sentence == f"On a simulated market: Held {ON_UNSEEN}, and around it."


tallies = st.sampled_from(
    [None, RARE, LUCKY, Tally(50, 0, is_stopped=False), Tally(199, 1, is_stopped=False)]
)
unseen = st.sampled_from([None, GAIN, LOSS, UNSURE, NOUGHT, HEAVY, OPENED])
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
    strength=st.sampled_from([2.9, 0.0, -3.0]),
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
        (2.9, -1.0),
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
        "strength",
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
        seen = [fact for fact in (facts.folds, facts.held_out) if fact is not None]
        assert GAIN in seen
        assert not any(part.contradicts for part in seen)
        assert not facts.is_warm_started
        assert facts.searches <= 10
    assert verdict.sentence.startswith("On a simulated market: ") == facts.is_simulated


@given(cases)
def test_losing_a_confirmation_never_improves_the_grade(facts):
    """Evidence out of sample can only be missed."""
    for name in ("folds", "held_out"):
        worse = replace(facts, **{name: LOSS})
        assert GRADES.index(decide(worse).grade) <= GRADES.index(decide(facts).grade)


@given(cases, st.sampled_from(["folds", "held_out"]), st.sampled_from([LOSS, UNSURE, NOUGHT]))
def test_evidence_that_is_not_for_it_never_improves_the_grade(facts, name, more):
    """Bars that are opened, or folds that are made, and show no gain beyond a standard error."""
    before = replace(facts, **{name: None})
    after = replace(facts, **{name: more})
    assert GRADES.index(decide(after).grade) <= GRADES.index(decide(before).grade)


THROUGH_TIME = replace(
    BEST, held_out=None, checks={}, trades=40, schedule=ScheduleFacts("30 days", 24)
)
"""A schedule of 24 steps whose stitched trades confirm."""


def test_a_schedule_speaks_of_the_way_of_searching():
    """In the law's own words; it is at most held, whatever else is known."""
    verdict = decide(THROUGH_TIME)
    assert verdict.grade == "holds"
    assert verdict.sentence == (
        "Searching every 30 days held out of sample: 0.12 R a trade over 40 trades in 24 steps; "
        "0 of 199 schedules on shuffled bars did as well (p = 0.005)."
    )


@pytest.mark.parametrize(
    ("changes", "grade", "words"),
    [
        (
            {"differences": 2, "schedule": ScheduleFacts("30 days", 24, 1)},
            "invalid",
            "2 differences between trades with and without later bars; "
            "1 step picked by bars after its date",
        ),
        ({"members": 0}, "too_little", "the front is empty"),
        ({"trades": 12}, "too_little", "12, 30 are needed"),
        (
            {"folds": replace(GAIN, closing_days=19)},
            "too_little",
            "Too few days with trades to judge: 19, 20 are needed",
        ),
        ({"shuffled": LUCKY}, "luck", "10 of 20 schedules on shuffled bars did as well"),
        ({"strength": -1.5, "mean_r": -0.1}, "lost", "It loses: 40 trades, -0.10 R each"),
        (
            {"shuffled": None, "mirrored": None},
            "not_judged",
            "Not tested for luck yet. So far: steps gained 0.12 R a trade over 40 trades.",
        ),
        (
            {"shuffled": Tally(3, 0, is_stopped=False)},
            "not_judged",
            "3 schedules on shuffled bars, 99 are needed",
        ),
        ({"folds": UNSURE}, "weak", "its trades through time are not sure enough"),
        ({"searches": 11}, "weak", "11 searches were made on these bars"),
    ],
)
def test_grades_of_a_schedule(changes, grade, words):
    """The first that applies, by stitched trades and null schedules."""
    verdict = decide(replace(THROUGH_TIME, **changes))
    assert verdict.grade == grade
    assert words in verdict.sentence
