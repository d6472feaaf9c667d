"""Newcomers bred on a device, against the host's.

Run as ``python -m tests.support.device_breeding cpu|cuda``; on "cpu" with TRITON_INTERPRET=1,
because the interpreter is chosen when Triton is imported. Prints what it compared; ends with an
assertion where a bit differs.
"""

import contextlib
import sys

import numpy as np
import torch

from optimizer.generation import OPERATORS, Population
from optimizer.search.breeding import Draws, Plan, breed, repaired, sizes_of
from optimizer.search.device import breeding
from optimizer.search.device.breeding import Breeder
from optimizer.search.device.members import Members
from optimizer.search.device.told import Told
from optimizer.search.randomness import MAX_GENERATION, MAX_SEED
from optimizer.search.ranking import Ranking
from optimizer.search.toolbox import make_toolbox
from strategy import Gene, GenomeLayout, LessThan, find_strategy
from tests.support.program_order import from_last_to_first
from tests.support.searches import Analytic, float_layout, int_layout, settings

MIXED = GenomeLayout(
    (
        Gene("gene_0", "int", low=-3, high=9, default=0),
        Gene("gene_1", "int", low=0, high=9, default=5),
        Gene("frozen", "float", low=2.5, high=2.5, default=2.5),
        Gene("wide", "float", low=-1e6, high=1e6, default=-0.0),
        Gene("still", "int", low=4, high=4, default=4),
        Gene("narrow", "float", low=-0.25, high=0.5, default=0.0),
    ),
    (LessThan("gene_0", "gene_1"),),
)
"""Whole, frozen, negative, wide and narrow genes, and a constraint."""

LAYOUTS = {
    "reals": float_layout(10),
    "one": float_layout(1),
    "mixed": MIXED,
    "few": int_layout((0, 4), (0, 5), (0, 3), ordered=True),
    "fewer": int_layout((0, 2), (1, 3)),
    "many": int_layout((0, 60), (0, 60), ordered=True),
    "strategy": find_strategy("seller_exhaustion").layout,
}

ETAS = (1, 3, 7, 15, 31, 63)


def drawn(rng, toolbox, layout, count, serial):
    """Individuals with legal genomes, some of them twice, and numbers from `serial` on."""
    genomes, _ = repaired(layout, toolbox.sample(rng, count=count))
    genomes[count - count // 8 :] = genomes[: count // 8]
    lineage = np.full((count, 4), -1, dtype=np.int64)
    lineage[:, 0] = serial + rng.permutation(count)
    nothing = np.zeros(count)
    return Population(genomes, np.zeros((count, 3)), nothing, nothing.astype(np.int16), lineage)


def ranked(rng, count):
    """Ranks and crowding with many ties."""
    crowding = rng.integers(0, 4, count) / 4.0
    crowding[rng.random(count) < 0.2] = np.inf
    return Ranking(rng.integers(0, 4, count), crowding)


class Case:
    """One island on host and device, bred for some generations.

    Args:
        rng: What the case is drawn from.
        layout: Genes.
        size: Population.
        device: Torch device.
    """

    def __init__(self, rng, layout, size, device):
        room = int(rng.integers(1, 2 * size))
        # A compiler takes seconds for each.
        etas = ETAS if device == "cpu" else ETAS[3:4]
        self.settings = settings(
            size,
            1,
            archive=room,
            elite=float(rng.choice([0.0, 0.3, 1.0])),
            crossover_eta=int(rng.choice(etas)),
            mutation_eta=int(rng.choice(etas)),
            mutation_probability=rng.choice([None, 0.5]),
        )
        self.layout, self.size, self.rng, self.device = layout, size, rng, device
        self.toolbox = make_toolbox(Analytic(layout, 3), self.settings)
        n_rows = 2 * size + room
        # What is not written may be anything, but must not be read.
        self.members = Members.empty(n_rows, len(layout), device)
        self.members.genomes.fill_(np.nan)
        self.members.lineage.fill_(-7)
        self.ranks = torch.zeros(n_rows, dtype=torch.int32, device=device)
        self.crowding = torch.full((n_rows,), np.nan, dtype=torch.float64, device=device)
        self.breeder = Breeder(layout, self.settings, self.members, self.ranks, self.crowding)
        self.told = torch.zeros(len(Told), dtype=torch.int64, device=device)

    def put(self, population, archive, ranking):
        """Lay individuals out on the device."""
        size, end = self.size, self.size + len(archive)
        for name in ("genomes", "lineage"):
            rows = getattr(self.members, name)
            rows[:size] = torch.tensor(getattr(population, name), device=self.device)
            rows[size:end] = torch.tensor(getattr(archive, name), device=self.device)
        self.ranks[:size] = torch.tensor(ranking.ranks, device=self.device)
        self.crowding[:size] = torch.tensor(ranking.crowding, device=self.device)

    def compare(self, seed, number):
        """Breed a generation on both; gives the host's brood."""
        rng = self.rng
        population = drawn(rng, self.toolbox, self.layout, self.size, 0)
        count = int(rng.integers(1, self.settings.archive + 1))
        archive = drawn(rng, self.toolbox, self.layout, count, self.size)
        archive.genomes[: count // 2] = population.genomes[rng.integers(0, self.size, count // 2)]
        ranking = ranked(rng, self.size)
        rates = rng.dirichlet(np.ones(4)) if rng.random() < 0.7 else np.eye(4)[rng.integers(4)]
        plan = Plan(
            counts=(self.size,),
            rates=tuple(rates.tolist()),
            elite=self.settings.elite,
            immigrants=float(rng.choice([0.0, 0.1, 0.5, 1.0], p=[0.4, 0.3, 0.2, 0.1])),
            rankings=(ranking,),
        )
        draws = Draws(seed, number)
        told = [seed, number, *sizes_of(Draws(seed, number), plan, 0), count, 10**12]
        brood = breed(self.toolbox, self.layout, draws, [population], archive, plan)
        self.put(population, archive, ranking)
        self.told.copy_(torch.tensor(told))
        self.breeder.launch(self.told)
        self.check(brood)
        return brood

    def check(self, brood):
        """Assert that the newcomers on the device are the host's brood."""
        first, born = self.size + self.settings.archive, int(self.breeder.born[0])
        assert len(brood) == born, f"{len(brood)} newcomers on the host, {born} on the device"
        assert int(brood.is_repaired.sum()) == int(self.breeder.repaired[0])
        genomes = self.members.genomes[first : first + born].cpu().numpy()
        lineage = self.members.lineage[first : first + born].cpu().numpy()
        expected = brood.lineage.copy()
        expected[:, 0] = 10**12 + np.arange(born)
        wrong = np.flatnonzero((expected != lineage).any(axis=1))
        assert not wrong.size, f"{wrong[:9]}: {expected[wrong[:3]]}, {lineage[wrong[:3]]}"
        wrong = np.flatnonzero((brood.genomes.view(np.int64) != genomes.view(np.int64)).any(axis=1))
        assert not wrong.size, f"{wrong[:9]}: {brood.genomes[wrong[:3]]}, {genomes[wrong[:3]]}"


def seed_of(rng):
    """Seeds and numbers of generations, the largest among them."""
    if rng.random() < 0.2:
        return MAX_SEED, MAX_GENERATION
    return int(rng.integers(0, MAX_SEED)), int(rng.integers(1, 6))


def shape_blocks(elements, lanes, chunk):
    """Have programs do more at a time: an interpreter takes its time for each of them."""
    breeding.ELEMENTS, breeding.BLOCK = elements, elements
    breeding.LANES, breeding.CHUNK = lanes, chunk


def compare_layout(rng, name, device):
    """Compare random generations of a layout; gives the broods."""
    many = 2 if device == "cpu" else 12
    sizes = (8, 41, 131) if device == "cpu" else (8, 41, 512, 2500)
    for size in sizes:
        case = Case(rng, LAYOUTS[name], size, device)
        for _ in range(many if size < 40 else 1):
            yield size, case.compare(*seed_of(rng))


def main():
    """Compare random generations of every layout, small ones and one beyond `COUNTED`."""
    (device,) = sys.argv[1:]
    rng = np.random.default_rng(1)
    n_dropped, codes = 0, np.zeros(len(OPERATORS), dtype=np.int64)
    for number, name in enumerate(LAYOUTS):
        order = contextlib.nullcontext()
        if device == "cpu":
            shape_blocks(*((128, 32, 256) if name == "few" else (512, 128, 64)))
            order = from_last_to_first() if number % 2 else order
        with order:
            for size, brood in compare_layout(rng, name, device):
                n_dropped += size - len(brood)
                codes += np.bincount(brood.lineage[:, 3], minlength=len(OPERATORS))
        print(f"{name}: every bit equal", flush=True)
    assert n_dropped > 100, n_dropped
    if device == "cpu":
        shape_blocks(2048, 512, 256)
    brood = Case(rng, MIXED, 4200 if device == "cpu" else 32_768, device).compare(7, 3)
    print(f"many: every bit equal, {len(brood)} newcomers; codes {codes}, {n_dropped} dropped")


if __name__ == "__main__":
    main()
