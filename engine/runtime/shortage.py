"""Memory of a device, given back when an engine of this process runs short of it."""

import threading
from collections.abc import Callable

GiveBack = Callable[[], None]
"""Returns when the memory is free."""

_LOCK = threading.Lock()
_OFFERS: list[GiveBack] = []


def offer_memory(give_back: GiveBack) -> None:
    """Offer memory held beside the engines of this process, such as by another process."""
    with _LOCK:
        _OFFERS.append(give_back)


def withdraw_memory(give_back: GiveBack) -> None:
    """Take an offer back, if it still stands."""
    with _LOCK:
        if give_back in _OFFERS:
            _OFFERS.remove(give_back)


def relieve_shortage() -> bool:
    """Have everything given back that is on offer; whether there was anything."""
    with _LOCK:
        offers = list(_OFFERS)
        _OFFERS.clear()
    for give_back in offers:
        give_back()
    return bool(offers)
