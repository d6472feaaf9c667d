"""Names and values that other programs take for parts of a strategy, each with what to write."""

from collections.abc import Collection, Mapping

SPELLINGS: Mapping[str, str] = {
    "stop=share(0.02), or from_entry(row), beyond_bar(row), level(row)": "sl stoploss stopprice",
    "target=share(0.04), or r_multiple(2), from_entry(row), level(row)": (
        "tp takeprofit profittarget roi minimalroi"
    ),
    "targets=[(r_multiple(1), 0.5), (r_multiple(3), 0.5)]": "tp1 tp2 tps takeprofits qtypercent",
    "entry=limit_at(row, expires=5)": "limit limitprice entryprice customentryprice",
    "entry=stop_at(row, expires=5) or limit_at(row, expires=5)": (
        "order ordertype expires expire unfilledtimeout entries"
    ),
    "long=CONDITION": "buy buysignal enterlong entrylong longentry entersignal",
    "short=CONDITION to sell short, exit_long=CONDITION to leave a long": "sell sellsignal",
    "short=CONDITION": "entershort entryshort shortentry",
    "exit_long=CONDITION and exit_short=CONDITION": "exit close closeposition exitsignal leave",
    "exit_long=CONDITION": "longexit",
    "exit_short=CONDITION": "shortexit cover",
    "trail=trail(share(0.02)), or trail(from_entry(row)), trail(level(row))": (
        "trailing trailingstop trailstop tsl sltrail trailpoints trailoffset trailprice"
    ),
    "break_even=1, in units of risk": "breakeven be movetobreakeven",
    "max_hold=48, in bars": "maxbars maxholding timestop timeout timeexit holdbars",
    "account=account(10_000, risk(0.01), leverage=2)": (
        "qty size quantity amount stake stakeamount sizing capital initialcapital cash leverage "
        "risk riskpertrade"
    ),
    'market=market(tick="0.01", multiplier=50, lot="1")': "tick ticksize mintick pointvalue lot",
    "slippage=ticks(1), bp(3) or price(row)": "slip spread",
    "the flags --fee-bp and --fee-unit, in Python fee_bp and fee_unit": (
        "fee fees commission commissions"
    ),
    "reverse=True": "flip alwaysin stopandreverse",
    "nothing, for there is one position at a time": "pyramiding maxopentrades hedging",
}
"""Words of this language, by names without case and `_` that stand for them elsewhere."""

PARTS_ELSEWHERE = {name: ours for ours, names in SPELLINGS.items() for name in names.split()}

FROM_ROW: Mapping[str, str] = {
    "from_entry": "a row is a price: write level({0}); one that is a distance is from_entry({0})",
    "level": "a row is a price: write level({0})",
    "stop_at": "a row is a price: write stop_at({0}) or limit_at({0})",
    "trail": "a row is a price: write trail(level({0})); a distance is trail(from_entry({0}))",
    "price": "a row of prices is price({0})",
    "funding": "a row of rates is funding({0}, every=480)",
    "borrow": "a row of rates is borrow({0})",
}
"""Words for a row, by a word that is legal in its place."""

FROM_NUMBER: Mapping[str, str] = {
    "r_multiple": "write r_multiple(2) for twice the risk, share(0.02) for 2 % of the price",
    "share": "write share(0.02) for 2 % of the price, level(...) for a price",
    "trail": "write trail(share(0.02)) for 2 % of the price",
    "stop_at": "write stop_at({0}) or limit_at({0}) for a price",
    "ticks": "write ticks({0}) or bp({0})",
    "risk": "write risk(0.01) for 1 % of the cash, units({0}) for so many",
    "session_exit": "write session_exit({0}), a minute of the day",
    "market": 'write market(tick="0.01")',
    "funding": "write funding({0}, every=480)",
    "borrow": "write borrow({0})",
}
"""Words for a number, by a word that is legal in its place."""

TRAILED = ("from_entry", "share", "level")
"""Forms of which `trail` makes a stop that follows."""


def suggest_part(name: str) -> str:
    """Words in place of an argument of `strategy`, empty without an idea.

    >>> suggest_part("stop_loss")
    'stop=share(0.02), or from_entry(row), beyond_bar(row), level(row)'
    """
    return PARTS_ELSEWHERE.get(name.lower().replace("_", ""), "")


def suggest_form(text: str, kind: str, legal: Collection[str]) -> str:
    """End of a message about a value that is none of the legal forms; empty without an idea.

    Args:
        text: The value as a person wrote it.
        kind: ``row``, ``number``, or the word of a form.
        legal: Words of what is legal there.

    >>> suggest_form("high", "row", ["share", "level"])
    '; a row is a price: write level(high)'
    """
    if kind in TRAILED and "trail" in legal:
        return f"; write trail({text})"
    hints = FROM_ROW if kind == "row" else FROM_NUMBER if kind == "number" else {}
    known = next((hint for word, hint in hints.items() if word in legal), None)
    return "" if known is None else f"; {known.format(text)}"
