"""Machine code of every kernel: no fused multiply-add, nothing approximate, no float32.

Compiled for a device that need not be there. A sentence in a manual that an option does something
is not enough; the machine code is read.
"""

import functools
import importlib
import pkgutil
import re

import pytest

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

import torch
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile

import engine
from engine.accounts.cpu.money import Purse
from engine.accounts.cuda import merging
from engine.accounts.ledger import EXIT_PLACES
from engine.conditions.cuda import kernels
from engine.conditions.cuda.expression_vm import TURNED
from engine.indicators.cuda import row_kernels, trend_layers
from engine.indicators.cuda.row_steps import FINITE, SESSIONS, WINDOWS
from engine.positions.cpu.exits import Extremes
from engine.positions.cpu.orders import OrderRules
from engine.positions.cuda import answers, both_sides, chain, kept, trades
from engine.positions.cuda.listed_orders import (
    AloneSignals,
    TakenSignals,
    fold_taken,
    walk_alone,
)
from engine.positions.cuda.order_forms import OrderForm
from engine.positions.cuda.order_walk import LanePopulation, LaneResults, build_loop, walk_lanes
from engine.runtime.compiling import device_loops
from engine.runtime.compiling.compile_timer import compile_seconds
from engine.runtime.compiling.launch import OPTIONS

FORBIDDEN = re.compile(r"\b(fma|mad)\.rn\.f\d+|\bmad\.f\d+|\.approx|\.ftz|\.f32\b")
"""Instructions that round differently from the law, or in another precision."""

POINTERS = {
    "*fp64": "account all_r before blocks charges close constants costs equity finer flat floor"
    " genomes gross kept leverages levers limit limits low market merged numbers out prices r"
    " repeated rows scale short_r steps sums tails taylor totals values",
    "*i64": "given keys longs opened planes pyramid ranks shorts spans words",
    "*i8": "notes votes",
}
TYPES = {f"p_{name}": kind for kind, names in POINTERS.items() for name in names.split()}
"""Types of arguments by name; others are whole numbers of 32 bits, or point to some."""

PUT, ABS, ADD, SUBTRACT, MULTIPLY, DIVIDE, LEAST, MOST = 0, 3, 4, 5, 6, 7, 8, 9
FORMS = {
    "two rows": ((PUT,), (PUT,)),
    "a band": ((PUT,), (PUT, 1, PUT, MULTIPLY, ADD)),
    "a product less a quotient": ((PUT, 1, MULTIPLY, PUT, 2, DIVIDE, SUBTRACT), (2,)),
    "turned": ((PUT, 1, TURNED + SUBTRACT, PUT, TURNED + DIVIDE, ABS), (PUT, 1, LEAST, 2, MOST)),
}
"""Operations of both sides of comparisons, with each operation in it."""

ROW, SUM = ((0, 0, 0.0),), ((0, 0, 0.0), (1, 1, 0.0), (2, 0, 0.5), (6, 0, 0.0), (4, 1, 0.0))
"""Formulas of walks of orders."""

REALS = {"rows", "genomes", "numbers", "further", "shares", "break_even", "worse", "paid", "terms",
         "finer"}  # fmt: skip
"""Of their inputs those that are no whole numbers."""

ROWS = {"day_ends", "break_even", "max_hold", "delay", "warm_up", "session_of", "worse_of",
        "borrow_of", "funding_of"}  # fmt: skip
"""Those that have one axis."""

I32, I64 = "*i32", "*i64"

ROW_STEPS = {
    1: "copy abs negated later step rise fall lag roc larger smaller",
    2: "+ - * / minimum maximum hl2 doubled share part apart confirmed swing rising falling up"
    " down",
    3: "true_range close_location hlc3 place deviation",
    4: "ohlc4 factor",
}
"""Steps of rows by how many operands they have."""

ON_ROWS = {"p_table": "*i64", "p_cut": "*i64", "p_first": "*i64", "p_seed": "*fp64",
           "p_states": "*fp64"}  # fmt: skip

KERNELS = {
    **{
        f"step {form}": (
            row_kernels.bar_kernel,
            {"FORM": form, "COUNT": count, "FINITE": form in FINITE, "TILE": 1024},
            ON_ROWS,
        )
        for count, forms in ROW_STEPS.items()
        for form in forms.split()
    },
    **{
        f"window {form}": (row_kernels.window_kernel, {"FORM": form, "LANES": 32}, ON_ROWS)
        for form in WINDOWS
    },
    **{
        f"session {form}": (row_kernels.session_kernel, {"FORM": form, "JOBS": 32}, ON_ROWS)
        for form in SESSIONS
    },
    "seeds": (row_kernels.first_kernel, {"TILE": 1024}, ON_ROWS),
    **{
        f"{name}, {is_weighed}": (kernel, {"WEIGHED": is_weighed} | sizes, ON_ROWS)
        for is_weighed in (False, True)
        for name, kernel, sizes in (
            ("moving average", row_kernels.chain_kernel, {"JOBS": 32}),
            ("mended average", row_kernels.mend_kernel, {"TILE": 32}),
        )
    },
    "ask": (answers.ask_kernel, {"PAUSES": True, "BLOCK": 256, "BLOCKS": 64},
        {"p_limits": I32, "p_pauses": I32}),
    **{
        f"answer, {levers}": (
            answers.answer_kernel,
            {"LEVERED": levers, "PACKS": levers, "SLOTS": 32, "SIGNALS": 64},
            {"p_flat": I32},
        )
        for levers in (False, True)
    },
    "gross": (answers.gross_kernel, {"KEEPS": True, "BLOCK": 32, "BLOCKS": 64},
        {"p_numbers": I32}),
    **{
        f"admit, {counted}": (
            kept.admit_kernel,
            {"FINER": True, "COUNTED": counted, "PAUSES": counted, "KEEPS": True, "N_OUT": 32,
             "BLOCK": 64},
            {"p_limits": I32, "p_pauses": I32, "p_trade_list": I32},
        )
        for counted in (False, True)
    },
    "drawdown": (chain.drawdown_kernel, {"N_OUT": 19, "BLOCK": 64}),
    "spans": (merging.span_kernel, {"WINDOWS": 32, "STRETCH": 64}),
    **{
        f"keys, {is_sided}": (
            merging.key_kernel,
            {"SIDED": is_sided, "WINDOWS": 32, "BLOCK": 64},
            {"p_list": I32},
        )
        for is_sided in (0, 1)
    },
    "order": (merging.order_kernel, {"TIES": True, "WINDOWS": 32, "SIDE": 64, "BLOCKS": 64}),
    "arrange": (merging.arrange_kernel, {"BLOCK": 256, "BLOCKS": 64}),
    "counts": (merging.count_kernel, {"N_OUT": 19, "COLUMNS": 32, "WINDOWS": 16}),
    "words": (trend_layers.words_kernel, {"PER_ROW": 6, "LENGTHS": 9, "TILE": 64, "LANES": 32},
        {"p_words": I32}),
    "steps": (trend_layers.steps_kernel, {"TERMS": 19, "TILE": 64, "LANES": 32}),
    **{
        f"equities, {sides}": (
            trend_layers.equities_kernel,
            {"SIDES": sides, "PER_ROW": 6 * sides, "REPEATS": sides == 1, "SEGMENT": 64,
             "UNROLL": 32, "LANES": 32},
            {"p_votes": votes, "p_starts": "*fp64"},
        )
        for sides, votes in ((9, I32), (1, "*i8"))
    },
    "votes": (trend_layers.votes_kernel, {"PER_ROW": 6, "SEGMENT": 64, "LANES": 32},
        {"p_words": I32}),
    "row": (trend_layers.row_kernel, {"REPEATS": True, "SEGMENT": 64, "LANES": 32}),
    **{
        f"codes, {moves}": (
            kernels.plane_kernel,
            {"MOVES": moves, "HIGHEST": 254, "BITS": 8, "HALVES": 16},
        )
        for moves in (False, True)
    },
    **{
        f"compare by codes, {relation}": (
            kernels.compare_codes_kernel,
            {"RELATION": relation, "BOTH": relation > 1, "IS_NOW": relation % 2,
             "JOIN": relation % 3, "FROM": relation % 3, "HIGHEST": 254, "BITS": 8, "LANES": 128},
        )
        for relation in range(4)
    },
    **{
        f"compare, {name}": (
            kernels.compare_form_kernel,
            {"LEFT": left, "RIGHT": right, "RELATION": relation, "HALVES": 16},
            {"p_words": I32},
        )
        for relation, (name, (left, right)) in enumerate(FORMS.items())
    },
    **{
        f"remember, {way}": (
            kernels.remember_kernel,
            {"FROM": way, "HELD": way == 0, "WORDS": 256},
            {"p_out": I64},
        )
        for way in (0, 2)
    },
    "join": (kernels.join_kernel, {"FROM": 1, "OTHERS_FROM": 2, "ALL": True, "WORDS": 256},
        {"p_others": I64, "p_out": I64}),
    "following": (kernels.following_kernel, {"WORDS": 256}),
    "marks": (both_sides.mark_kernel, {"WORDS": 128}),
    **{
        f"leave, {moves}, {is_all}": (
            both_sides.leave_kernel,
            {"MOVES": moves, "FORMULAS": is_all, "KEEPS": is_all or not moves, "ALL": is_all,
             "FINER": moves and not is_all, "MARKETS": is_all, "SIGNALS": 32, "BLOCKS": 4},
            {"p_asked": I64},
        )
        for moves, is_all in ((False, False), (True, False), (True, True))
    },
    "choose": (trades.choose_kernel, {"FINER": True, "SIGNALS": 32, "BLOCKS": 4, "BLOCK": 256},
        {"p_trade_list": I32}),
    "tally": (trades.tally_kernel,
        {"EXITS": EXIT_PLACES, "FINER": True, "ENDS": True, "N_OUT": 24, "BLOCK": 64},
        {"p_trade_list": I32}),
    "settle": (trades.settle_kernel, {"N_OUT": 24, "PAIRS": 8}),
}  # fmt: skip
"""Each kernel with its constants, and the types that differ from those by name."""


def compile_kernel(kernel, constants, others=(), options=OPTIONS):
    """The kernel's assembly for a Hopper device."""
    types = TYPES | dict(others)
    plain = [name for name in kernel.arg_names if name not in constants]
    signature = {name: types.get(name, I32 if name[:2] == "p_" else "i32") for name in plain}
    source = ASTSource(
        kernel, signature | dict.fromkeys(constants, "constexpr"), constexprs=constants
    )
    return compile(source, target=GPUTarget("cuda", 90, 32), options=options).asm["ptx"]


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_kernel_rounds_as_the_law_says(name):
    """No instruction fuses, approximates, flushes, or computes in float32."""
    code = compile_kernel(*KERNELS[name])
    assert sorted({match.group() for match in FORBIDDEN.finditer(code)}) == []


def test_the_gate_would_notice():
    """With the compiler's own default, an average is fused; and compiling is timed."""
    before = compile_seconds()
    average = KERNELS["moving average, False"]
    assert FORBIDDEN.search(compile_kernel(*average, options={"enable_fp_fusion": True}))
    assert compile_seconds() > before


def list_walks():
    """Loops over walks that have all that the law knows, and what they are launched with."""
    reals, wholes = torch.zeros((2, 2), dtype=torch.float64), torch.zeros((2, 2), dtype=torch.int32)
    rules = OrderRules(0.0, 0.0, 0.0, 1.0, 1.0, 0, 0, False, False, 0, 0, 0, False, False)
    asks = LanePopulation(**{
        name: words if name == "words" else (reals if name in REALS else wholes)[
            0 if name in ROWS else slice(None)]
        for words in (reals.view(torch.uint64),) for name in LanePopulation._fields
    })  # fmt: skip
    common = asks, rules, Purse(0, *[1.0] * 8)
    results = LaneResults(wholes[0], wholes, torch.zeros((2, 2, 2), dtype=torch.float64), wholes,
                          reals)  # fmt: skip
    alone = AloneSignals(wholes[0], wholes, wholes[0], *[wholes] * 3, reals, wholes, reals)
    taken = TakenSignals(wholes[0], wholes[0], wholes, *[wholes[0]] * 2, wholes, reals, reals,
                         wholes, reals, reals)  # fmt: skip
    prices = Extremes(reals, reals)
    return {
        "pairs": (walk_lanes, (prices, *common, 1, 1, results)),
        "alone": (walk_alone, (prices, *common, 1, 1, 32, alone)),
        "taken": (fold_taken, (*common, 1, 1, True, taken)),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pairs", "alone", "taken"])
def test_walks_of_orders_round_as_the_law_says(name, tmp_path, monkeypatch):
    """A walk fuses nothing; and what was compiled is found again."""
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed (extra 'dev' or 'gpu')")
    monkeypatch.setattr(device_loops, "kernels_folder", lambda: tmp_path)
    form = OrderForm(
        ((2, 3), (4, 2), (2, 1), (0, 0), (5, 2), (2, 4)), ((SUM, ROW), (ROW, ROW), (ROW, SUM),
        (ROW, ROW), ((), ROW), (SUM, ROW)), (2, 1), (1, 3), 5, True, True, 1, 5, True, True, 2,
        False,
    )  # fmt: skip
    loop, arguments = list_walks()[name]
    build, module = functools.partial(build_loop, loop, form), loop.__module__
    code = device_loops.compile_device_loop(build, module, (name, form), arguments, (9, 0))
    assert sorted({match.group() for match in FORBIDDEN.finditer(code)}) == []
    parameters = [value for each in arguments for value in device_loops.flatten(each)]
    assert code.partition(")")[0].count("_param_") == len(parameters)
    assert device_loops.compile_device_loop(None, module, (name, form), arguments, (9, 0)) == code


def test_every_kernel_is_read():
    """A kernel of the engine that is not listed here would escape the gate."""
    names = [module.name for module in pkgutil.walk_packages(engine.__path__, "engine.")]
    written = {
        name
        for module in names
        if ".cuda." in module
        for name in vars(importlib.import_module(module))
        if name.endswith("_kernel")
    }
    assert {kernel.fn.__name__ for kernel, *_ in KERNELS.values()} == written
