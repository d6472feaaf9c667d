"""The clock of a server, as the weeks of a market show it that trades around the clock."""

from data.checks import Ints
from data.timeframe import DAY_NS, HOUR_NS, WEEK_NS
from data.zones import NEW_YORK, SERVER_CLOCK, earliest_moments, find_steps, to_local

SERVERS = (SERVER_CLOCK, "EET")
"""Clocks of MetaTrader's servers: with American summer time, and with European."""

SUNDAY_NS = 3 * DAY_NS

LONGEST_PAUSE_NS, WEEKEND_NS, LONGEST_WEEKEND_NS = 4 * HOUR_NS, 40 * HOUR_NS, 5 * DAY_NS
"""A market that trades around the clock pauses so long within its weeks, and between them."""

WEEK_OPENS = (17, 18)
"""Hours of New York's Sunday in which currencies, metals and indices open."""

MOST_ODD_WEEKS, LEAST_MORE_WEEKS = 0.1, 2
"""Share of weeks that holidays change, and weeks that one clock must explain beyond any other."""


def note_server(local_ns: Ints, tz: str) -> tuple[str, ...]:
    """A note where weeks begin at one hour of New York by another clock than that of `tz`.

    They are those of local times [N], oldest or newest first.
    """
    times = local_ns[::-1] if len(local_ns) and local_ns[0] > local_ns[-1] else local_ns
    opens = times[find_steps(times, WEEKEND_NS, LONGEST_WEEKEND_NS) + 1]
    pauses = find_steps(times, LONGEST_PAUSE_NS + 1, WEEKEND_NS - 1)
    if not len(opens) or len(pauses) > len(opens):
        return ()
    alike = {clock: _count_alike(opens, clock) for clock in (tz, *SERVERS)}
    best = max(SERVERS, key=lambda clock: alike[clock])
    least = max(
        (1 - MOST_ODD_WEEKS) * len(opens),
        *(count + LEAST_MORE_WEEKS for clock, count in alike.items() if clock != best),
    )
    if best == tz or alike[best] < least:
        return ()
    return (
        f"{alike[best]} of {len(opens)} weeks begin at one hour of New York with --tz {best}, as "
        f"MetaTrader's servers have it, and {alike[tz]} as they are read now",
    )


def _count_alike(opens: Ints, tz: str) -> int:
    """Weeks that begin at the most common hour of New York's Sunday, of local opens [K]."""
    in_york = to_local(earliest_moments(opens, tz), NEW_YORK)
    hours = (in_york - SUNDAY_NS) % WEEK_NS // HOUR_NS
    return max(int((hours == hour).sum()) for hour in WEEK_OPENS)
