"""What the compiler makes of the search's kernels: nothing fused, approximate or in float32."""

import pytest

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from engine.backends.cuda.launch import OPTIONS
from optimizer.search.device.kernels import (
    breeding,
    crowding,
    fronts,
    places,
    repeats,
    survival,
    thinning,
    worth,
)
from tests.support.machine_code import (
    F64,
    FORBIDDEN,
    I8,
    I16,
    I32,
    I64,
    compiled,
)

MODULES = (breeding, crowding, fronts, places, repeats, survival, thinning, worth)

TILE = {"ROWS": 16, "COLUMNS": 256}

GENES = {"N_GENES": 10, "GENES": 16}
CHUNKS = {"ROWS": 8, "CHUNK": 256, "CHUNKS": 128} | GENES
REDRAWN = [I64] + [F64] * 3 + [I8, F64, I64] + [I32] * 4 + ["i32"] * 4
TURN = [I32, I32, I32, "i32"]
WALKED = [I32] * 5
WALK = TURN[1:] + WALKED + [I32, I64, "i32", "i32"]
SEGMENTS = {"ROUNDS": 4, "SEGMENTS": 16, "GROUP": 32}
FILTER = {"ROUNDS": 4, "CHUNK": 1024, "CHUNKS": 64}

KERNELS = {
    "keys": (places.keys_kernel, [F64, I64, "i32"], {"BLOCK": 256}),
    "order": (places.order_kernel, [I64, I32, I32, I32, "i32"], TILE),
    "select": (places.select_kernel, [I8, I32, I32, I32, I32], {"CHUNK": 2048}),
    "orders": (
        fronts.orders_kernel,
        [F64, F64, I32, I32, I32, F64, F64, I32, I32, I32, I32, "i32", "i32"],
        {"ROWS": 8, "COLUMNS": 256},
    ),
    "slot keys": (
        fronts.slot_keys_kernel,
        [F64, F64, I32, I64, I32, I32, "i32", "i32"],
        {"BLOCK": 256},
    ),
    "bits": (fronts.bits_kernel, [F64, F64, I32, I32, I32], {"TARGETS": 128}),
    "peel": (fronts.peel_kernel, [I32, I32, I32, I32, I32, "i32"], {}),
    "push": (
        fronts.push_kernel,
        [F64, F64, I32, I32, I32, "i32"],
        {"TARGETS": 32, "SOURCES": 64},
    ),
    "crowding": (
        crowding.crowding_kernel,
        [F64, I32, I32, I32, F64, I32, F64, "i32", "i32", "i32"],
        {"IS_KNOWN": False, "ROWS": 4, "COLUMNS": 256},
    ),
    "standing": (
        crowding.standing_kernel,
        [F64, F64] + [I32] * 4 + [F64, I32, I64, I64, "i32", "i32", "i32"],
        {"IS_KNOWN": True} | TILE,
    ),
    "member keys": (
        crowding.member_keys_kernel,
        [I32, I32, I32, I32, I64, "i32"],
        {"BLOCK": 256},
    ),
    "gaps": (
        crowding.gaps_kernel,
        [I64, F64, F64, "i32", "i32", "i32"],
        {"STEPS": 18, "BLOCK": 256},
    ),
    "permutations": (breeding.permutation_kernel, [I64, I64, I32, "i32", "i32"], {"BLOCK": 128}),
    "children": (
        breeding.children_kernel,
        [I64] + [F64] * 3 + [I8, F64, I64, I32, F64, I32, F64, I64, I32, "i32"],
        {"ROWS": 8, "ORDERED": (0, 1), "CROSS_SQUARINGS": 4, "MUTATE_SQUARINGS": 3} | GENES,
    ),
    "mutants": (
        breeding.redraw_kernel,
        REDRAWN,
        {"IS_MUTATION": True, "ORDERED": (0, 1), "SQUARINGS": 3} | CHUNKS,
    ),
    "immigrants": (
        breeding.redraw_kernel,
        REDRAWN,
        {"IS_MUTATION": False, "ORDERED": (), "SQUARINGS": 3} | CHUNKS,
    ),
    "newcomers": (
        breeding.finish_kernel,
        [I64, F64, I64] + [I32] * 4 + [F64, I64, I32, I32, "i32", "i32"],
        CHUNKS,
    ),
    "repeats": (
        repeats.admit_kernel,
        [I64] * 3 + [I32] * 4 + ["i32"] * 3,
        {"CHUNK": 256, "LANES": 32} | GENES,
    ),
    "repeats again": (
        repeats.readmit_kernel,
        [I64] * 2 + [I32] * 4 + ["i32"] * 5,
        {"CHUNK": 256, "LANES": 32} | GENES,
    ),
    "members": (
        worth.rank_kernel,
        [F64, *TURN, I8, *WALKED, I64, "i32", "i32"],
        {"ROUNDS": 4, "IS_FIRST": False, "ROWS": 8, "COLUMNS": 1024},
    ),
    "first walk": (worth.walk_kernel, WALK, {"IS_FIRST": True, "LANES": 128} | SEGMENTS),
    "walk": (worth.walk_kernel, WALK, {"IS_FIRST": False, "LANES": 64} | SEGMENTS),
    "leave": (
        worth.leave_kernel,
        [*TURN, I64, I8],
        {"ROUNDS": 4, "ROWS": 8, "COLUMNS": 1024},
    ),
    "begin": (
        thinning.begin_kernel,
        [F64, *TURN[:-1], I8, I64, I64, "i32"],
        {"BLOCK": 256},
    ),
    "count": (thinning.count_kernel, [I32, *TURN, I8, I32, "i32"], FILTER),
    "filter": (thinning.filter_kernel, [I32, *TURN, I8, I32, I32, I32, "i32"], FILTER),
    "place": (
        thinning.place_kernel,
        [F64, *TURN, I32, I32, *WALKED, I64, "i32", "i32"],
        {"ROUNDS": 4, "BLOCK": 256},
    ),
    "mark": (thinning.mark_kernel, [I64, *TURN, I64, I8], {"ROUNDS": 4, "BLOCK": 256}),
    "undominated": (survival.undominated_kernel, [F64, F64, I32, I32, I8, "i32", "i32"], TILE),
    "tally": (
        survival.tally_kernel,
        [I64, I8, I8, I32, I32, I32, "i32", "i32", "i32"],
        {"CHUNK": 2048},
    ),
    "cut": (
        survival.cut_kernel,
        [I64, I32, I32, I32, I32, I32, I32, I64, "i32", "i32"],
        {"CHUNK": 2048},
    ),
    "survive": (
        survival.survive_kernel,
        [I64, I64, I32, I32, I32, I64, I8, I32, I32, I32, I32, "i32", "i32"],
        {"CHUNK": 2048},
    ),
    "take": (
        survival.take_kernel,
        [I32, I32] + 2 * [F64, F64, F64, I16, I64] + ["i32", "i32", "i32"],
        {"ROWS": 32, "GENES": 16},
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_rounds_as_the_law_says(name):
    """No instruction fuses, approximates, flushes, or computes in float32."""
    code = compiled(*KERNELS[name], OPTIONS)
    assert sorted({match.group() for match in FORBIDDEN.finditer(code)}) == []


def test_every_kernel_is_read():
    """A kernel that is launched but not listed here would escape the gate."""
    listed = {kernel.fn.__name__ for kernel, _, _ in KERNELS.values()}
    written = {name for module in MODULES for name in vars(module) if name.endswith("_kernel")}
    assert listed == written
