"""What the compiler makes of every kernel: no fused multiply-add, nothing approximate, no float32.

Compiled for a device that need not be there. A sentence in a manual that an option does something
is not enough; the machine code is read.
"""

import re

import pytest

triton = pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource, compile  # noqa: E402

from engine.backends.cuda import chain, exits, rows, signals  # noqa: E402
from engine.backends.cuda.launch import OPTIONS  # noqa: E402

F64, I32, I64, I8, U8 = "*fp64", "*i32", "*i64", "*i8", "*u8"

FORBIDDEN = re.compile(r"\b(fma|mad)\.rn\.f\d+|\bmad\.f\d+|\.approx|\.ftz|\.f32\b")
"""Instructions that round differently from the law, or in another precision."""

KERNELS = {
    "ema": (
        rows.ema_kernel,
        [F64, I32, I32, I64, I64, F64, "i32", "i32"],
        {"LANES": 32},
    ),
    "mean": (
        rows.rolling_kernel,
        [F64, I32, I32, I64, I64, F64, F64, F64, "i32"],
        {"IS_ZSCORE": False, "LANES": 32},
    ),
    "zscore": (
        rows.rolling_kernel,
        [F64, I32, I32, I64, I64, F64, F64, F64, "i32"],
        {"IS_ZSCORE": True, "LANES": 32},
    ),
    "code": (
        rows.code_kernel,
        [I32, F64, F64, F64, U8, "i32", "i32"],
        {"HIGHEST": 126, "BLOCK": 1024},
    ),
    "mask": (
        signals.mask_kernel,
        [I32, I32, I32, I32, "i32", "i32", "i32"],
        {"GREATER": 5, "N_GENES": 3, "N_PAIRS": 1, "ROWS": 4, "COLUMNS": 64},
    ),
    "list": (
        signals.list_kernel,
        [I32, I64, I64, I32, I32, "i32", "i32", "i32", "i32"],
        {"BLOCK": 512},
    ),
    "exit": (
        exits.exit_kernel,
        [F64] * 5
        + [U8, F64]
        + [I32] * 4
        + [I64, I32, I32, I32, I8, F64, F64]
        + ["i32", "i32", "i32", "i32", F64],
        {
            "GENE_COLUMNS": (4, 5, 6),
            "GREATER": 5,
            "N_GENES": 3,
            "N_PAIRS": 1,
            "N_EXACT": 1,
            "N_COLUMNS": 10,
            "N_ROWS": 6,
            "STOP_ROW": 5,
            "STOP_MULT": 7,
            "REWARD": 8,
            "MAX_HOLD": 9,
            "KEEPS_PRICES": True,
            "SIGNALS": 32,
            "BLOCKS": 4,
            "BLOCK_BARS": 16,
        },
    ),
    "take": (chain.take_kernel, [I32] * 6 + ["i32", "i32"], {"LANES": 32}),
    "gather": (
        chain.gather_kernel,
        [I32, I32, F64, F64, "i32"],
        {"LANES": 32, "TRADES": 16, "BLOCKS": 4},
    ),
    "fold": (
        chain.fold_kernel,
        [I32, F64, F64, F64, F64, F64, "i32"],
        {"N_OUT": 19, "LANES": 32},
    ),
    "count": (
        chain.count_kernel,
        [I32] * 5 + [I8, F64, F64, F64, F64, "i32"],
        {"N_OUT": 19, "LANES": 8, "TRADES": 64},
    ),
}


def compiled(name, options):
    """The kernel's assembly for a Hopper device."""
    kernel, types, constants = KERNELS[name]
    plain = [n for n in kernel.arg_names if n not in constants]
    assert len(plain) == len(types), f"{name}: {plain}"
    signature = dict(zip(plain, types, strict=True)) | dict.fromkeys(constants, "constexpr")
    source = ASTSource(kernel, signature, constexprs=constants)
    return compile(source, target=GPUTarget("cuda", 90, 32), options=options).asm["ptx"]


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_rounds_as_the_law_says(name):
    """No instruction fuses, approximates, flushes, or computes in float32."""
    found = sorted({match.group() for match in FORBIDDEN.finditer(compiled(name, OPTIONS))})
    assert found == []


def test_the_gate_would_notice():
    """With the compiler's own default, the EMA is fused, and the pattern finds it."""
    assert FORBIDDEN.search(compiled("ema", {"enable_fp_fusion": True}))


def test_every_kernel_is_read():
    """A kernel that is launched but not listed here would escape the gate."""
    listed = {kernel.fn.__name__ for kernel, _, _ in KERNELS.values()}
    written = {
        name
        for module in (chain, exits, rows, signals)
        for name in vars(module)
        if name.endswith("_kernel")
    }
    assert listed == written
