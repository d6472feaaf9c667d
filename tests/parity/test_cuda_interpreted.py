"""The CUDA kernels without a GPU: interpreted on the host, on small worlds.

The interpreter rounds each operation as NumPy does; what it cannot show is what a compiler fuses,
and that a number passed to a kernel arrives as float32. `test_cuda_code.py` reads the machine code
for both.
"""

import pytest

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from tests.support.comparisons import run_interpreted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "message", "compared"),
    [
        (("seller_exhaustion", "mean_reversion", "paper", "finer"), "every bit equal", 3),
        (("stretches",), "trades in stretches", 1),
        (("accounts",), "accounts of", 1),
        (("limits",), "every bit equal", 1),
        (("waves",), "every figure equal", 1),
    ],
    ids=["shipped", "stretches", "accounts", "limits", "waves"],
)
def test_interpreted_kernels_equal_the_reference(parts, message, compared):
    """Rows, signals, trades and accumulators are equal in every bit."""
    assert run_interpreted("interpreted", *parts).count(message) == compared


@pytest.mark.slow
def test_no_two_engines_of_a_judged_run_are_on_a_device():
    """That of the run is gone before null markets have one, and theirs go one after the other."""
    printed = run_interpreted("interpreted_judging")
    assert "2 folds, 2 null searches, no two engines at once" in printed
