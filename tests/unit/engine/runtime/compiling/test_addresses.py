"""Loops that are called by address: what they return, and what of them their callers depend on."""

from engine.runtime.compiling.addresses import call_loop, declare_loop
from engine.runtime.compiling.loops import compiled_loop
from engine.runtime.compiling.reach import digest_reach


@declare_loop("f8(f8[:, ::1], i8)")
def add_row(table, row):
    """The sum of a row, which becomes its first number."""
    total = 0.0
    for column in range(table.shape[1]):
        total += table[row, column]
    table[row, 0] = total
    return total


@compiled_loop
def add_both(address, table):
    """The sums of two rows."""
    return call_loop(add_row, address, table, 0) + call_loop(add_row, address, table, 1)


def test_callers_depend_on_what_a_loop_declares():
    """Code on disk is not used with another declaration, which would read arguments wrongly."""
    before, declared = digest_reach(add_both), add_row.declared
    try:
        add_row.declared = "f8(f8[:, ::1], i4)"
        assert digest_reach(add_both) != before
    finally:
        add_row.declared = declared
    assert digest_reach(add_both) == before
