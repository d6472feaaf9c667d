"""Who leaves a front on a device, against the search on the host.

Run as ``python -m tests.support.device_thinning DEVICE``; with TRITON_INTERPRET=1 the device is
``cpu``. Prints what it compared; ends with an assertion where another member stays.
"""

import sys

import numpy as np
import torch

from optimizer.search.archive import thinned
from optimizer.search.device import places, thinning

KINDS = ("sphere", "plane", "clusters", "ties", "copies", "crowd", "far", "flat", "curve")


def drawn(rng, count, kind):
    """Objectives [F, 3] of a kind; of most kinds some dominate others."""
    cube = rng.random((count, 3))
    if kind == "sphere":
        return 1.0 - cube / np.sqrt((cube**2).sum(axis=1, keepdims=True))
    if kind == "plane":
        return cube / cube.sum(axis=1, keepdims=True) * 1e6
    if kind == "clusters":
        return rng.random((4, 3))[rng.integers(0, 4, count)] + cube * 1e-7
    if kind == "ties":
        return rng.choice([-2.0, -1.0, -0.0, 0.0, 1.0, 3.0], (count, 3))
    if kind == "copies":
        return cube[rng.integers(0, count, count)]
    if kind == "crowd":
        return 0.5 + cube * 2.0**-51
    if kind == "far":
        return (cube - 0.5) * np.where(rng.random((count, 1)) < 0.1, 2.0**1000, 1.0)
    if kind == "flat":
        return cube * [1.0, 1.0, 0.0]
    return np.column_stack([cube[:, 0], 1.0 - cube[:, 0], cube[:, 2] * 1e-3])


class Case:
    """A thinning with room, used again and again, and rows of which only some are listed."""

    def __init__(self, rng, device, room):
        self.rng, self.device, self.room = rng, device, room
        self.rows = room + room // 2 + 3
        self.thinning = thinning.Thinning(self.rows, room, device)

    def tensor(self, values, kind):
        """Numbers on the device."""
        return torch.tensor(np.asarray(values), dtype=kind, device=self.device)

    def compare(self, count, keep, rounds, kind):
        """One front: who stays, and rows that are not listed are left as they are."""
        objectives = np.full((self.rows, 3), np.nan)
        rows = self.rng.permutation(self.rows)
        objectives[rows[:count]] = drawn(self.rng, count, kind)
        stays = self.tensor(np.full(self.rows, 7), torch.int8)
        self.thinning.launch(
            self.tensor(objectives, torch.float64),
            self.tensor(rows[: self.room], torch.int32),
            self.tensor([count], torch.int32),
            self.tensor([keep], torch.int32),
            rounds,
            stays,
        )
        expected = np.full(self.rows, 7)
        expected[rows[:count]] = 0
        expected[rows[thinned(objectives[rows[:count]], keep, rounds)]] = 1
        found = stays.cpu().numpy()
        what = f"{kind}, {count} of {self.room}, keep {keep}, {rounds} rounds"
        wrong = np.flatnonzero(found != expected)
        assert not len(wrong), f"{what}: {len(wrong)} rows, {wrong[:5]}: {found[wrong[:5]]}"
        return what


def compare_few(rng, device, rooms, turns):
    """Fronts of all kinds with room for few, counted and sorted."""
    for room in rooms:
        for counted in (places.COUNTED, 0):
            thinning.COUNTED = counted
            case = Case(rng, device, room)
            for _ in range(turns):
                count = int(rng.integers(room // 2, room + 1))
                keep = int(rng.integers(1, count + 1))
                case.compare(count, keep, int(rng.choice([1, 2, 4])), rng.choice(KINDS))
            for count, keep in ((0, 1), (1, 1), (2, 1), (min(room, 9), 2), (room, room)):
                case.compare(count, keep, 4, rng.choice(KINDS))
    thinning.COUNTED = places.COUNTED


def main():
    """Compare on the device that is named."""
    device = torch.device(sys.argv[1])
    rng = np.random.default_rng(11)
    if device.type == "cpu":
        # An interpreter takes as long for a large tile as for a small one.
        thinning.ROWS, thinning.COLUMNS, thinning.SEGMENTS = 256, 256, 2
        thinning.LANES, thinning.MANY_LANES, thinning.BLOCK = 32, 64, 2048
        rooms, turns, large = (2, 33, 70), 2, ((5_000, 90, 60),)
    else:
        rooms, turns = (2, 3, 33, 130, 512, 1_024, 4_096), 40
        large = ((5_000, 5_000, 2_500), (65_536, 65_000, 32_768), (200_000, 100_000, 60_000))
    compare_few(rng, device, rooms, turns)
    print("fronts of few: every member equal")
    for room, count, keep in large:
        case = Case(rng, device, room)
        for kind in KINDS if device.type == "cuda" else KINDS[:1]:
            print(f"{case.compare(count, keep, 2, kind)}: every member equal")


if __name__ == "__main__":
    main()
