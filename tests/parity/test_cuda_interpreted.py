"""The CUDA kernels without a GPU: interpreted on the host, on small worlds.

The interpreter rounds each operation as NumPy does; what it cannot show is what a compiler fuses,
and that a number passed to a kernel arrives as float32. `test_code.py` reads the machine code
for both. What a device shows in seconds, and the interpreter in minutes, is left to `-m gpu`.
"""

import pytest

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from tests.support.comparisons import needs_gpu, on_gpu, run_interpreted

PROGRAMS = {
    "rows": ("device_rows", (), 1),
    "trends": ("interpreted_trends", (), 1),
    "words": ("interpreted_words", (), 15),
}
"""Programs, what each of them compares, and how often it says that it did."""


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_interpreted_kernels_equal_the_law(name):
    """Rows, signals, trades, accumulators and accounts are equal in every bit."""
    program, parts, compared = PROGRAMS[name]
    assert run_interpreted(program, *parts).count("every bit equal") == compared


@needs_gpu
@pytest.mark.parametrize("name", ["rows", "trends"])
def test_a_gpu_equals_the_host(name):
    """Rows on series that segments find hard; hundreds of tuples of trends on the sample."""
    program, _, compared = PROGRAMS[name]
    assert on_gpu(program).count("every bit equal") >= compared
