"""How long a GPU takes to compute indicator rows, after they equal the CPU's in every bit.

    python -m tests.bench.rows_cuda [--rows 100] [--repeats 9] [--series 35040 20x200000]

For each size the sample is repeated end to end. First rows of random lengths are computed on both
devices, form by form and all in one call, and compared; also that nothing in a call waits for the
device, and two EMAs against the readable loop. Only then fills are timed, from the call until the
device is done: all forms alone, together, few rows as in a late generation; then EMAs with other
segments, with how many segments had to be computed again. The tables come last.
"""

import argparse
import contextlib
import sys
import time
from typing import NamedTuple

import numpy as np
import torch

from data import load_bars
from engine.accounts.costs import Costs
from engine.backend import RowForm, RowRequest
from engine.cpu.backend import CpuBackend
from engine.cuda import CudaBackend
from engine.fast_case import find_fast_case
from engine.indicators.cuda import tables
from optimizer.cli.bench_calls import extend_bars
from strategy import find_strategy
from strategy.indicator_registry import KINDS
from tests.support.device_rows import constants, expected_codes, never_mended

SPEC = find_strategy("seller_exhaustion")

FORMS = {
    RowForm("ema", "close"): (12, 1344),
    RowForm("sma", "true_range"): (12, 192),
    RowForm("zscore", "volume"): (96, 1344),
    RowForm("zscore", "true_range"): (96, 1344),
    RowForm("level", "close_location"): None,
}
"""Least and greatest length of each form in the strategy; a level has none."""

EMA = RowForm("ema", "close")

FEW = 10
"""New rows of each form in a late generation."""

CODED = 3
"""Rows of each form whose codes are compared."""

SEGMENTS = [(2**12, 20), (2**13, 16), (2**13, 20), (2**13, 24), (2**14, 20), (2**15, 20)]
"""Shortest segment, and how early segments begin, that are tried."""


class Size(NamedTuple):
    """So many series of about so many bars."""

    series: int
    bars: int

    def __str__(self):
        return f"{self.series} x {self.bars:,}" if self.series > 1 else f"{self.bars:,}"


def size_of(text):
    """A size as it is asked for, such as 35040 or 20x200000."""
    *series, bars = text.split("x")
    return Size(int(series[0]) if series else 1, int(bars))


def drawn(form, count, first, rng):
    """A request for so many rows of random lengths, into slots from the first on."""
    if FORMS[form] is None:
        return RowRequest(form, np.zeros((1, 0)), np.array([first]))
    low, high = FORMS[form]
    lengths = rng.choice(np.arange(low, high + 1), min(count, high + 1 - low), replace=False)
    return RowRequest(form, lengths[:, None].astype(np.float64), first + np.arange(len(lengths)))


def all_forms(count, rng):
    """A request for each form, slot after slot."""
    requests, first = [], 0
    for form in FORMS:
        requests.append(drawn(form, count, first, rng))
        first += len(requests[-1].slots)
    return requests


@contextlib.contextmanager
def never_waiting(backend):
    """Let anything fail that waits for the device within torch."""
    if backend.torch_device is None:
        yield
        return
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def plan_and_run(backend, requests):
    """Fill as the backend does, without what it does on the host besides."""
    whole = backend._market.whole
    plan = backend._filler.planned(requests, whole)
    backend._filler.run(plan, backend._rows, backend._codes, whole)


def count_of_differences(left, right):
    """Values that differ in a bit, NaN being one value."""
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    is_same = left.view(np.int64) == right.view(np.int64)
    is_same |= np.isnan(left) & np.isnan(right)
    return int((~is_same).sum())


def compared(cpu, cuda, series, requests):
    """Bars compared of these rows and how many differ; codes of some of them too."""
    bars = different = 0
    maps = cuda._market.maps.cpu().numpy()
    for form, lengths, slots in requests:
        coder = cuda._coders.get(form)
        for place, slot in enumerate(slots.tolist()):
            for number in range(len(series)):
                expected = cpu.rows(slot, number)
                different += count_of_differences(expected, cuda.rows(slot, number))
                bars += len(expected)
                if coder is None or place >= CODED:
                    continue
                cut = slice(int(cuda._market.starts[number]), int(cuda._market.ends[number]))
                low, scale = maps[cuda._market.coder_numbers[coder], :, cut]
                actual = cuda._codes[slot, cut].cpu().numpy()
                different += int((expected_codes(expected, low, scale) != actual).sum())
            if form == EMA and place < 2:
                values = series[0].close
                readable = KINDS["ema"].loop(values, int(lengths[place, 0]))
                different += count_of_differences(readable, cuda.rows(slot, 0))
    return bars, different


def verified(series, count, device, rng):
    """A CUDA backend whose rows equal the CPU's; ends the program where they do not."""
    capacity = 4 * max(count, FEW) + 1
    common = {"capacity": capacity, "work_bytes": 2**26}
    cuda = CudaBackend(find_fast_case(SPEC), series, Costs(), torch_device=device, **common)
    cpu = CpuBackend(find_fast_case(SPEC), series, Costs(), **common)
    requests = all_forms(count, rng)
    cpu.fill(requests)
    cuda._rows.fill_(-1.0)
    cuda.fill(requests)
    bars, different = compared(cpu, cuda, series, requests)
    together = cuda._rows.clone()
    cuda._rows.fill_(-1.0)
    with never_waiting(cuda):
        for request in requests:
            plan_and_run(cuda, [request])
    alone = int((together.view(torch.int64) != cuda._rows.view(torch.int64)).sum())
    if different or alone:
        sys.exit(f"FAILED: of {bars:,} values {different} differ, {alone} when computed alone")
    return cuda, f"{bars:,} values equal in every bit"


def timed(cuda, requests, repeats):
    """Milliseconds of a fill, p20, median, p80, from the call until the device is done."""
    found = []
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        cuda.fill(requests)
        if cuda.torch_device is not None:
            torch.cuda.synchronize()
        found.append(1e3 * (time.perf_counter() - begin))
    return np.percentile(found[1:], [20, 50, 80])


def computed_again(cuda, request):
    """Segments that did not agree, and how many there are."""
    filler, whole = cuda._filler, cuda._market.whole
    plan = filler.planned([request], whole)
    state = filler.allocate_state(plan)
    with never_mended():
        filler.run(plan, cuda._rows, cuda._codes, whole, state)
    apart = total = 0
    table = plan.averages.cpu().numpy()
    for row in np.flatnonzero(table[1] != tables.NO_SLOT).tolist():
        values = cuda._rows[int(table[1, row])]
        edges = zip(cuda._market.starts.tolist(), cuda._market.ends.tolist(), strict=True)
        for number, (start, end) in enumerate(edges):
            begins = torch.arange(start, end, int(table[3, row]), device=values.device)[1:]
            place = start // plan.shortest + number + 1
            assumed = state[row, place : place + len(begins)]
            apart += int((assumed.view(torch.int64) != values[begins - 1].view(torch.int64)).sum())
            total += len(begins)
    return apart, total


def table_of(cuda, size, count, repeats, rng):
    """Lines of times of one size."""
    lines = []
    bars = cuda._market.n_bars

    def line(what, requests):
        p20, p50, p80 = timed(cuda, requests, repeats)
        rows = sum(len(request.slots) for request in requests)
        rate = rows * bars / p50 / 1e6
        lines.append(
            f"{size!s:>13} {what:<38} {rows:>5} {p20:>9.2f} {p50:>9.2f} {p80:>9.2f} {rate:>7.1f}"
        )

    for form in FORMS:
        line("-".join(form), [drawn(form, count, 0, rng)])
    line("all forms in one call", all_forms(count, rng))
    line("all forms, few rows, in one call", all_forms(FEW, rng))
    line("all forms, 2 rows, in one call", all_forms(2, rng))
    return lines


def segments_of(cuda, size, count, repeats, rng):
    """Lines of times of EMAs by their segments."""
    lines = []
    for shortest, early in SEGMENTS:
        with constants(SHORTEST_SEGMENT=shortest, EARLY=early):
            request = drawn(EMA, count, 0, rng)
            _, p50, _ = timed(cuda, [request], repeats)
            _, few, _ = timed(cuda, [drawn(EMA, FEW, 0, rng)], repeats)
            apart, total = computed_again(cuda, request)
        again = f"{apart} of {total:,}"
        lines.append(f"{size!s:>13} {shortest:>9,} {early:>6} {p50:>9.2f} {few:>9.2f} {again:>15}")
    return lines


def main():
    """Verify, then time, then print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--series",
        nargs="+",
        type=size_of,
        default=[*map(size_of, ("35040", "350400", "2000000", "20x200000"))],
    )
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--device", default="cuda", help="'cpu' with TRITON_INTERPRET=1 tries it")
    asked = parser.parse_args()
    sample = load_bars("sample")
    rng = np.random.Generator(np.random.PCG64(1))
    times, segments = [], []
    for size in asked.series:
        begin = time.perf_counter()
        series = [extend_bars(sample, size.bars + 997 * number) for number in range(size.series)]
        cuda, told = verified(series, asked.rows, asked.device, rng)
        print(f"{size}: {told}, {time.perf_counter() - begin:.1f} s", flush=True)
        times += table_of(cuda, size, asked.rows, asked.repeats, rng)
        segments += segments_of(cuda, size, asked.rows, asked.repeats, rng)
        del cuda
        if asked.device != "cpu":
            torch.cuda.empty_cache()
            print(torch.cuda.get_device_name(), f"{time.perf_counter() - begin:.1f} s", flush=True)
    print(f"\n{'bars':>13} {'fill, ms':<38} {'rows':>5} {'p20':>9} {'median':>9} {'p80':>9} G/s")
    print("\n".join(times))
    print(
        f"\n{'bars':>13} {'shortest':>9} {'early':>6} {'EMAs':>9} {f'{FEW} EMAs':>9} {'again':>15}"
    )
    print("\n".join(segments))


if __name__ == "__main__":
    main()
