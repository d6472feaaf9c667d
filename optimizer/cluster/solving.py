"""Doing a piece of work: the same function on every worker, which knows nothing of a network."""

import time

from optimizer.cluster.keeping import KEPT, Keep
from optimizer.cluster.made import made_here
from optimizer.cluster.work import Found, Lacks, Made, Work


def solve(work: Work, host: str = "", keep: Keep = KEPT) -> Found | Lacks | Made:
    """Do a piece of work.

    Args:
        work: What to do.
        host: By which name `work.shares` knows this machine.
        keep: What this process has.

    Returns:
        What was found; or what is lacking to find it; or, where this process would find other
        bits, by whom it would be made.
    """
    own = made_here()
    if own.digest != work.made_for:
        return own
    setup = keep.setup(work.setup)
    if setup is None:
        if work.setup not in work.carried:
            return Lacks()
        share = work.shares.get(host, 1)
        found = keep.unpack(work.setup, work.carried, work.folder, share)
        if isinstance(found, tuple):
            return Lacks(found)
        setup = found
    began = time.perf_counter()
    result = setup.run(work.job)
    return Found(work.index, result, time.perf_counter() - began)
