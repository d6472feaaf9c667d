"""What the compiler makes of every kernel: no fused multiply-add, nothing approximate, no float32.

Compiled for a device that need not be there. A sentence in a manual that an option does something
is not enough; the machine code is read.
"""

import pytest

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from engine.accounts.cuda import merging
from engine.accounts.ledger import EXIT_PLACES
from engine.conditions.cuda import candidates, kernels, signals
from engine.conditions.cuda.expression_vm import TURNED
from engine.cuda import validate
from engine.indicators.cuda import rows, trend_layers, trend_sides
from engine.positions.cuda import (
    answers,
    both_sides,
    bracket_exits,
    chain,
    kept,
    order_walk,
    take,
    trades,
)
from engine.runtime.compiling.compile_timer import compile_seconds
from engine.runtime.compiling.launch import OPTIONS
from tests.support.machine_code import F64, FORBIDDEN, I8, I32, I64, U8, compile_kernel

MODULES = (
    answers,
    validate,
    candidates,
    chain,
    kept,
    kernels,
    merging,
    bracket_exits,
    both_sides,
    order_walk,
    rows,
    signals,
    take,
    trades,
    trend_layers,
    trend_sides,
)
"""Where kernels are written."""

GENES = (0, 4, 1, 1, 5, 1, 2, 6, 0, 3, 7, 1, 3, 7, 0)
"""Row, gene, relation: three packed comparisons, one of them ``<``, and two loose ones."""

BRACKET = {
    "N_COLUMNS": 10,
    "N_ROWS": 7,
    "STOP_ROW": 5,
    "STOP_MULT": 7,
    "REWARD": 8,
    "MAX_HOLD": 9,
    "DELAY": 1,
}

PUT, ABS, ADD, SUBTRACT, MULTIPLY, DIVIDE, LEAST, MOST = 0, 3, 4, 5, 6, 7, 8, 9
FORMS = {
    "two rows": ((PUT,), (PUT,)),
    "a band": ((PUT,), (PUT, 1, PUT, MULTIPLY, ADD)),
    "a product less a quotient": ((PUT, 1, MULTIPLY, PUT, 2, DIVIDE, SUBTRACT), (2,)),
    "turned": ((PUT, 1, TURNED + SUBTRACT, PUT, TURNED + DIVIDE, ABS), (PUT, 1, LEAST, 2, MOST)),
}
"""Operations of both sides of comparisons, with each operation in it."""

WALK = [F64, F64, I32, I32, F64, I32, I32, F64, I32] + [F64] * 3
WALK += [I32, F64, I64, I64, I32, I64, I32, I64] + [I32] * 6
WALK += [F64, I32, I32, F64, I32, F64, I32] + ["i32"] * 11
"""What a walk of orders takes."""

FLAGS = ("LONG_ORDER", "SHORT_ORDER", "REVERSES", "CANCELS", "DAYS", "MOVES", "EVEN_LEG", "LADDERS",
         "SLIPS", "HAS_TICK", "CARRIES", "SIZE", "COOLS", "LEVELS", "EVEN_FORM", "NAMES",
         "BOUNDED", "FINER", "LANES")  # fmt: skip

ORDERS = {
    "reversed stops and limits": (1, 2, True, True, True, False, False, False, False, True, False,
                                  0, False, False, 0, False, True, True, 32),
    "moving stops, sized": (0, 0, False, False, False, True, False, False, True, True, True, 5,
                             False, True, 3, True, False, True, 32),
    "ladders": (0, 0, False, False, False, False, True, True, False, False, False, 1, True, False,
                5, False, True, True, 32),
}  # fmt: skip
"""What strategies say that have orders, ladders or money; all of it between them."""

KERNELS = {
    "ema": (
        rows.ema_kernel,
        [F64, I32, I32, I32, F64, F64, "i32", "i32", "i32", "i32", "i32"],
        {"ROWS": 32},
    ),
    "mend": (
        rows.mend_kernel,
        [F64, I32, I32, I32, F64, F64, "i32", "i32", "i32", "i32"],
        {"SEGMENTS": 1024, "BARS": 32},
    ),
    "rolling": (
        rows.rolling_kernel,
        [F64, I32, I32, I32, F64, F64, "i32", "i32", "i32", "i32", "i32", "i32"],
        {"LANES": 32},
    ),
    "code": (
        rows.code_kernel,
        [F64, I32, F64, U8, "i32", "i32", "i32"],
        {"HIGHEST": 126, "ROWS": 8, "BARS": 1024},
    ),
    "admission": (
        validate.admission_kernel,
        [I32, I32, F64, F64, I32, I32, F64, I32, "i32"],
        {
            "N_COLUMNS": 10,
            "N_ROWS": 7,
            "WHOLE": (0, 1, 2, 3, 9),
            "ORDERED": (0, 1),
            "LENGTHS": (0, 1, 2, 2, -1, 3),
            "LEAD": 2,
            "PACKED": (4, 1, 5, 1, 6, 0),
            "LANES": 128,
        },
    ),
    "candidate": (
        candidates.candidate_kernel,
        [F64, U8, I32, F64, I32, I32, I32, I32, "i32", "i32", "i32"],
        {"WRITES": True, "GREATER": 3, "N_PACKED": 3, "HIGHEST": 126, "BLOCK": 1024},
    ),
    "count": (
        candidates.candidate_kernel,
        [F64, U8, I32, F64, I32, I32, I32, I32, "i32", "i32", "i32"],
        {"WRITES": False, "GREATER": 3, "N_PACKED": 3, "HIGHEST": 126, "BLOCK": 1024},
    ),
    "signal": (
        signals.signal_kernel,
        [I32] * 4 + [F64, U8, F64, I32, I32, F64] + [I32] * 7 + ["i32"] * 5,
        {
            "GENES": GENES,
            "N_PACKED": 3,
            "PAIRS": (4, 5),
            "EXACT": (2, 3),
            "WARM_ROWS": (0, 1),
            "N_COLUMNS": 10,
            "N_ROWS": 7,
            "HIGHEST": 126,
            "INDEX_BARS": 1024,
            "DELAY": 1,
            "IS_PART": True,
            "MEETS_OWN": True,
            "BLOCK": 256,
            "DENSE": 128,
        },
    ),
    "exit": (
        bracket_exits.exit_kernel,
        [I32, F64, I32, F64, F64] + [I32] * 3 + [F64] + [I32] * 3 + [F64] + ["i32"] * 5,
        BRACKET | {"MEETS_OWN": True, "LEVERS": True, "SIGNALS": 32, "BLOCKS": 4},
    ),
    **{
        f"ask, {is_sided}": (
            answers.ask_kernel,
            [I32, I64, I32, I32, I32, F64, I64] + [I32] * 8 + [F64, F64, "i32", "i32"],
            {"DELAY": 1, "MEETS_OWN": True, "SIDED": is_sided, "BLOCK": 256, "BLOCKS": 64},
        )
        for is_sided in (False, True)
    },
    **{
        f"answer, {is_levered}": (
            answers.answer_kernel,
            [I32, I64, I32, I32, I32, I32, F64, F64, I32, I32, I32, "i32", "i32", "i32"],
            {
                "DELAYED": not is_levered,
                "SIDED": is_levered,
                "LEVERED": is_levered,
                "PACKS": is_levered,
                "SLOTS": 32,
                "SIGNALS": 64,
            },
        )
        for is_levered in (False, True)
    },
    "gross": (
        answers.gross_kernel,
        [I32] * 7 + [F64] * 3 + ["i32", "i32"],
        {"KEEPS": True, "BLOCK": 32, "BLOCKS": 64},
    ),
    "keep": (
        kept.keep_kernel,
        [I32] * 4 + [F64, I32, I64, I32, I32, I32, F64, F64, "i32", "i32"],
        {"DELAY": 1, "FINER": True, "KEEPS": True, "N_OUT": 19, "BLOCK": 64},
    ),
    "admit": (
        kept.admit_kernel,
        [I32] * 4 + [I8, F64] + [I32] * 5 + [F64, F64, "i32", "i32"],
        {"FINER": True, "KEEPS": True, "N_OUT": 32, "BLOCK": 64},
    ),
    "take": (
        take.take_kernel,
        [I32] * 5 + [I64] + [I32] * 4 + ["i32", "i32"],
        {"DELAY": 0, "CARRIES": True, "FINER": True, "LANES": 32},
    ),
    "price": (
        chain.price_kernel,
        [I32, F64, F64, I32, F64, F64, I32, F64, I32, I32, I32, I64, F64, F64, I8, F64]
        + ["i32"] * 4,
        BRACKET | {"KEEPS_PRICES": True, "CARRIES": True, "FINER": True, "N_OUT": 19, "BLOCK": 64},
    ),
    "fold": (
        chain.fold_kernel,
        [I32, I32, F64, F64, F64, F64, F64, "i32", "i32"],
        {"CARRIES": True, "N_OUT": 19, "PAIRS": 8},
    ),
    "drawdown": (
        chain.drawdown_kernel,
        [I32, I32, F64, F64, F64, "i32", "i32"],
        {"CARRIES": True, "N_OUT": 19, "BLOCK": 64},
    ),
    "spans": (
        merging.span_kernel,
        [I32, I32, I64, I32, I32, I64, "i32", "i32", "i32"],
        {"MEETS_OWN": True, "WINDOWS": 32, "STRETCH": 64},
    ),
    **{
        f"keys, {is_sided}": (
            merging.key_kernel,
            [I32, I32, listed, I64, I32, I32, I32, I64, I64, I32, "i32", "i32", "i32"],
            {"MEETS_OWN": True, "PARTED": is_sided, "SIDED": is_sided, "WINDOWS": 32, "BLOCK": 64},
        )
        for is_sided, listed in enumerate((I64, I32))
    },
    "order": (
        merging.order_kernel,
        [I32, I64, I64, I32, I32, "i32", "i32", "i32"],
        {"TIES": True, "WINDOWS": 32, "SIDE": 64, "BLOCKS": 64},
    ),
    "arrange": (
        merging.arrange_kernel,
        [I32, I32, I32, F64, F64, "i32", "i32"],
        {"BLOCK": 256, "BLOCKS": 64},
    ),
    "counts": (
        merging.count_kernel,
        [I32, F64, I32, F64, "i32"],
        {"N_OUT": 19, "COLUMNS": 32, "WINDOWS": 16},
    ),
    **{
        f"window_{form}": (
            trend_sides.window_kernel,
            [F64, "i32", F64, I32, F64, F64, F64, F64, F64, "i32", "i32"],
            {"FORM": form, "LANES": 32},
        )
        for form in range(5)
    },
    "averages before segments": (
        trend_sides.chain_kernel,
        [F64, I32, F64, F64, F64, F64] + ["i32"] * 7,
        {"SEGMENT": 64, "UNROLL": 32, "LANES": 32},
    ),
    "averages": (
        trend_sides.averages_kernel,
        [F64, I32, F64, F64, F64, F64, F64] + ["i32"] * 5,
        {"SEGMENT": 64, "LANES": 32},
    ),
    "sides": (
        trend_sides.sides_kernel,
        [F64, F64, "i32", "i32", I32, I32, F64, U8, "i32", "i32"],
        {"TILE": 1024},
    ),
    "words": (
        trend_layers.words_kernel,
        [U8, I32, I32, I32, "i32", "i32"],
        {"PER_ROW": 6, "LENGTHS": 9, "TILE": 64, "LANES": 32},
    ),
    "steps": (
        trend_layers.steps_kernel,
        [F64, I32, F64, I32, F64, F64] + ["i32"] * 3,
        {"TERMS": 19, "TILE": 64, "LANES": 32},
    ),
    **{
        f"equities, {sides}": (
            trend_layers.equities_kernel,
            [side_type, F64, F64, I32, F64, F64, F64, F64] + ["i32"] * 3,
            {
                "SIDES": sides,
                "PER_ROW": 6 * sides,
                "REPEATS": sides == 1,
                "SEGMENT": 64,
                "UNROLL": 32,
                "LANES": 32,
            },
        )
        for sides, side_type in ((9, I32), (1, I8))
    },
    "votes": (
        trend_layers.votes_kernel,
        [I32, F64, F64, I32, F64, F64, I8, "i32", "i32"],
        {"PER_ROW": 6, "SEGMENT": 64, "LANES": 32},
    ),
    "row": (
        trend_layers.row_kernel,
        [I8, F64, F64, I32, F64, F64, F64, F64, "i32"],
        {"REPEATS": True, "SEGMENT": 64, "LANES": 32},
    ),
    "compare": (
        kernels.compare_kernel,
        [I32, F64, I32, F64, I32, F64, I32, I64] + ["i32"] * 5,
        {"WORDS": 8},
    ),
    **{
        f"compare, {name}": (
            kernels.compare_form_kernel,
            [I32, F64, I32, F64, I32, F64, I32, I32] + ["i32"] * 5,
            {"LEFT": left, "RIGHT": right, "RELATION": relation, "HALVES": 16},
        )
        for relation, (name, (left, right)) in enumerate(FORMS.items())
    },
    **{
        name: (
            kernels.remember_kernel,
            [I32, I64, I32, I32, I64, "i32", "i32", "i32"],
            {"FROM": way, "HELD": is_held, "WORDS": 256},
        )
        for name, is_held, way in (("held", True, 0), ("within", False, 2))
    },
    "join": (
        kernels.join_kernel,
        [I32, I64, I32, I64, I32, I64, "i32"],
        {"FROM": 1, "OTHERS_FROM": 2, "ALL": True, "WORDS": 256},
    ),
    "marks": (
        both_sides.mark_kernel,
        [I32, I64, I64] + [I32] * 7 + ["i32"] * 4,
        {"WORDS": 128},
    ),
    **{
        name: (
            both_sides.leave_kernel,
            [I32, F64, F64, I32, I32, F64, I32, F64, I32, I32, F64, I32, F64, F64, I32, I64]
            + [I32] * 9
            + [F64] * 3
            + [I8]
            + ["i32"] * 8,
            {"MOVES": moves, "KEEPS": keeps, "ALL": is_all, "FINER": not keeps}
            | {"SIGNALS": 32, "BLOCKS": 4},
        )
        for name, moves, keeps, is_all in (
            ("leave", False, True, False),
            ("leave, moving", True, False, False),
            ("leave, all", True, True, True),
        )
    },
    "choose": (
        trades.choose_kernel,
        [I32] * 6 + [I8] + [I32] * 5 + ["i32"] * 2,
        {"FINER": True, "SIGNALS": 32, "BLOCKS": 4, "BLOCK": 256},
    ),
    "tally": (
        trades.tally_kernel,
        [I32] * 7 + [I8, F64, I32, F64, F64, F64] + ["i32", "i32"],
        {"EXITS": EXIT_PLACES, "FINER": True, "ENDS": True, "N_OUT": 24, "BLOCK": 64},
    ),
    "settle": (
        trades.settle_kernel,
        [I32, I32] + [F64] * 6 + ["i32", "i32"],
        {"N_OUT": 24, "PAIRS": 8},
    ),
    **{
        f"walk, {name}": (order_walk.walk_kernel, WALK, dict(zip(FLAGS, flags, strict=True)))
        for name, flags in ORDERS.items()
    },
    "following": (kernels.following_kernel, [I64, I32, I32, "i32"], {"WORDS": 256}),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_rounds_as_the_law_says(name):
    """No instruction fuses, approximates, flushes, or computes in float32."""
    unrounded = sorted(
        {match.group() for match in FORBIDDEN.finditer(compile_kernel(*KERNELS[name], OPTIONS))}
    )
    assert unrounded == []


def test_the_gate_would_notice():
    """With the compiler's own default, the EMA is fused, and the pattern finds it."""
    assert FORBIDDEN.search(compile_kernel(*KERNELS["ema"], {"enable_fp_fusion": True}))


def test_compiling_a_kernel_is_timed():
    """Triton reports it to the counter, as soon as the engine of a GPU is there."""
    before = compile_seconds()
    compile_kernel(*KERNELS["ema"], OPTIONS)
    assert compile_seconds() > before


def test_every_kernel_is_read():
    """A kernel that is launched but not listed here would escape the gate."""
    listed = {kernel.fn.__name__ for kernel, _, _ in KERNELS.values()}
    written = {name for module in MODULES for name in vars(module) if name.endswith("_kernel")}
    assert listed == written
