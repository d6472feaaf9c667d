"""Genomes to begin with, from what people have at hand."""

import json

import numpy as np
import pytest

from optimizer.run.genes_file import hash_genomes, load_genomes
from strategy import STRATEGIES
from tests.support.searches import Zdt1, evolve, float_layout, settings

SELLER = STRATEGIES["seller_exhaustion"].layout
GENES = {"ema_fast": 24, "reward_r": 3.5}


def write_file(folder, name, content):
    """A file in a folder, by its path."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "content",
    [
        GENES,
        {"genes": GENES, "metrics": {}},
        {"front": [{"genes": GENES}]},
        {"header": {}, "result": {"front": [{"genes": GENES}]}},
        [{"generation": 1, "serial": 2, "genes.ema_fast": 24, "genes.reward_r": 3.5}],
    ],
    ids=["genes", "backtest", "export", "show", "table"],
)
def test_json_is_read_as_people_write_and_we_export_it(tmp_path, content):
    """Genes that are named are taken, the others keep their default."""
    (genome,) = load_genomes(write_file(tmp_path, "g.json", content), SELLER, tmp_path).genomes
    assert genome.tolist() == SELLER.encode(GENES).tolist()


def test_csv_columns_may_be_those_of_an_export(tmp_path):
    """Columns of genes with or without their prefix; our other columns are not looked at."""
    text = "genes.ema_fast,reward_r,metrics.sharpe\n24,3.5,0.1\n30,,0.2\n"
    genomes = load_genomes(write_file(tmp_path, "g.csv", text), SELLER, tmp_path).genomes
    assert genomes[:, SELLER.index("ema_fast")].tolist() == [24.0, 30.0]
    assert genomes[:, SELLER.index("reward_r")].tolist() == [3.5, 2.0]


OUTSIDE = [{"reward_r": 99.0}, {"reward_r": 1.0}, {"ema_fast": 150, "ema_slow": 100}]


def test_they_are_moved_inside_the_bounds_where_that_is_asked(tmp_path):
    """A note counts those moved, and those without a place."""
    path = write_file(tmp_path, "g.json", OUTSIDE)
    genomes = load_genomes(path, SELLER, tmp_path, may_repair=True)
    assert genomes.genomes[:, SELLER.index("reward_r")].tolist() == [5.0, 1.0, 2.0]
    assert SELLER.is_legal(genomes.genomes).all()
    moved = "2 of 3 candidates to begin with were repaired"
    assert genomes.notes(128) == (moved,)
    assert genomes.notes(3)[0] == moved
    assert "of 3 candidates to begin with the first 2 take part" in genomes.notes(3)[1]


def test_they_are_judged_in_the_first_generation():
    """They follow the published genome; a population of one has no room for them."""
    problem = Zdt1(float_layout(3))
    given = np.array([[0.1, 0.2, 0.3], [0.4, 0.0, 1.0]])
    next(evolve(problem, settings(6, 2), warm_start=given))
    assert problem.asked[0][:3].tolist() == [[0.5] * 3, *given.tolist()]
    next(evolve(problem, settings(1, 2), warm_start=given))
    assert problem.asked[1].tolist() == [[0.5] * 3]


def test_a_hash_tells_genomes_apart():
    """By the last bit of the last; nobody to begin with has none."""
    genomes = np.array([[1.0, 2.0], [3.0, 4.0]])
    other = np.array([[1.0, 2.0], [3.0, np.nextafter(4.0, 9.0)]])
    assert hash_genomes(None) is None
    assert hash_genomes(genomes) == hash_genomes(genomes.copy()) != hash_genomes(other)
