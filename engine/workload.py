"""Size of a run, large enough for a GPU or not; its start takes longer than many a search."""

from typing import NamedTuple

from engine.runtime.machine import available_cores

GPU_START_S = 4.0
"""To import torch, start CUDA and load kernels: so much later the first generation came on the host
of an H200."""

CORE_RATE = 0.4e9
"""Individual-bars per second of a core, rows there: 512 individuals of nine examples made 0.08 to
0.62 G, half of them 0.21 or more, on a core on which seller exhaustion made 0.40 G."""

MOST_CORES = 4
"""Cores of one process; more are hardly faster: 512 individuals of seller exhaustion took 6.5 ms on
four and 6.1 on sixteen of an H200's host, and four examples made 1.0 to 2.2 G there."""

GPU_RATE, GPU_CALL_S = 40e9, 0.001
"""The same of a GPU, and the further time of any call: calls of 512 individuals of nine examples on
35,040 bars took 0.4 to 1.6 ms on an H200, of 4,096 then 1 to 6, of 32,768 4 to 40."""

GPU_RATE_OF_ORDERS, GPU_BAR_OF_ORDERS_S = 20e9, 0.5e-6
"""The same of strategies with orders, and seconds that a call of any size takes for each bar of its
longest window, which are walked one after the other: walks of 512 individuals of four strategies on
35,040 bars took 6 to 57 ms on an H200, of 32,768 then 31 to 105, and 5.6 to 34 and 215 to 1,500 on
sixteen cores of its host."""

GPU_BAR_S = 1e-6
"""Seconds of each bar of a new market there. A wave of 100 null markets of 35,040 bars began in 0.3
s on an H200, and its first calls took 2.5 s more for rows of donchian_trail: 0.8e-6 a bar. Then
each of its searches, 100 generations of 512 individuals, took 0.075 s."""

CORE_ROW_RATE = 0.2e9
"""Bars of rows per second and core: 1,561 rows of 35,040 bars in 130 ms on two cores of an EPYC."""

GPU_ROW_RATE = 6e9
"""The same of a GPU: those rows in 9.2 ms on an H200."""


class Workload(NamedTuple):
    """Work of a run on its device."""

    individual_bars: float  # individuals to evaluate times bars of all windows
    row_bars: float  # indicator rows to compute at most, times bars of all series
    threads: int | None = None  # cores of the CPU that it may use; all when None
    calls: int = 0  # in which they are evaluated one after another, one a generation
    new_bars: int = 0  # bars of all series that its device has not seen yet
    order_bars: int = 0  # bars of the longest window, where the strategy has orders

    @property
    def cpu_s(self) -> float:
        """About so many seconds on its cores."""
        cores = min(available_cores(self.threads), MOST_CORES)
        return (self.individual_bars / CORE_RATE + self.row_bars / CORE_ROW_RATE) / cores

    @property
    def gpu_s(self) -> float:
        """About so many on a GPU that has been started."""
        rows_s = self.row_bars / GPU_ROW_RATE
        rate, call_s = GPU_RATE, GPU_CALL_S
        if self.order_bars:
            rate, call_s = GPU_RATE_OF_ORDERS, self.order_bars * GPU_BAR_OF_ORDERS_S
        begun_s = self.new_bars * GPU_BAR_S + self.calls * call_s
        return self.individual_bars / rate + rows_s + begun_s

    @property
    def pays_on_a_gpu(self) -> bool:
        """True if a GPU is done first, its start included."""
        return self.cpu_s > GPU_START_S + self.gpu_s

    def __str__(self) -> str:
        """For a person.

        >>> [str(Workload(bars, 0)) for bars in (35_040, 1_960_000_000, 12_345_678_901_234)]
        ['0.035 M individual-bars', '2 G individual-bars', '12,346 G individual-bars']
        """
        scale, unit = (1e9, "G") if self.individual_bars >= 1e8 else (1e6, "M")
        count = self.individual_bars / scale
        shown = f"{count:.2g}" if count < 10 else f"{count:,.0f}"
        return f"{shown} {unit} individual-bars"
