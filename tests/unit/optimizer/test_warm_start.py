"""Genomes to begin with, from what people have at hand."""

import json

import numpy as np
import pytest

from optimizer.errors import ConfigError, StoreError
from optimizer.search.evolution import evolve
from optimizer.session.warm_start import hash_of, load_genomes
from strategy import STRATEGIES
from tests.support.searches import Zdt1, float_layout, settings

SELLER = STRATEGIES["seller_exhaustion"].layout
GENES = {"ema_fast": 24, "reward_r": 3.5}


def written(folder, name, content):
    """A file in a folder, by its path."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "content",
    [[GENES], [{"genes": GENES, "metrics": {}}], {"front": [{"genes": GENES}]}],
    ids=["genes", "individuals", "export"],
)
def test_json_is_read_as_people_write_and_we_export_it(tmp_path, content):
    """Genes that are named are taken, the others keep their default."""
    (genome,) = load_genomes(written(tmp_path, "g.json", content), SELLER, tmp_path)
    assert genome.tolist() == SELLER.encode(GENES).tolist()


def test_csv_columns_may_be_those_of_an_export(tmp_path):
    """Columns of genes with or without their prefix; the rest is not looked at."""
    text = "genes.ema_fast,reward_r,metrics.sharpe\n24,3.5,0.1\n30,,0.2\n"
    found = load_genomes(written(tmp_path, "g.csv", text), SELLER, tmp_path)
    assert found[:, SELLER.index("ema_fast")].tolist() == [24.0, 30.0]
    assert found[:, SELLER.index("reward_r")].tolist() == [3.5, 2.0]


def test_they_are_moved_inside_the_bounds(tmp_path):
    """Bounds of this run hold for whoever comes from another."""
    (genome,) = load_genomes(written(tmp_path, "g.json", [{"reward_r": 99.0}]), SELLER, tmp_path)
    assert genome[SELLER.index("reward_r")] == 5.0


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("g.json", "{", "is no JSON"),
        ("g.json", [{"other": 1}], "holds no individual with a gene"),
        ("g.json", {"genes": 1}, "expected a list"),
        ("g.json", [{"ema_fast": 2.5}], r"individual 0: ema_fast must be a number .* got 2.5"),
        ("g.csv", "ema_fast\nfast\n", "got 'fast'"),
        ("g.csv", "", "holds no individual"),
    ],
)
def test_what_is_no_individual_is_refused(tmp_path, name, content, message):
    """One line with the file and what is wrong in it."""
    with pytest.raises(ConfigError, match=message):
        load_genomes(written(tmp_path, name, content), SELLER, tmp_path)


def test_missing_files_and_runs_are_named(tmp_path):
    """Neither is created nor guessed."""
    with pytest.raises(ConfigError, match="No such file"):
        load_genomes(str(tmp_path / "none.json"), SELLER, tmp_path)
    with pytest.raises(StoreError):
        load_genomes("20200101", SELLER, tmp_path)


def test_they_are_judged_in_the_first_generation():
    """They follow the published genome; a population of one has no room for them."""
    problem = Zdt1(float_layout(3))
    given = np.array([[0.1, 0.2, 0.3], [0.4, 0.0, 1.0]])
    next(evolve(problem, settings(6, 2), warm_start=given))
    assert problem.asked[0][:3].tolist() == [[0.5] * 3, *given.tolist()]
    next(evolve(problem, settings(1, 2), warm_start=given))
    assert problem.asked[1].tolist() == [[0.5] * 3]


def test_a_good_guest_is_in_the_archive():
    """Beginning with the end of another run never ends below it."""
    problem = Zdt1(float_layout(6))
    *_, first = evolve(problem, settings(20, 30))
    begun = next(evolve(problem, settings(60, 0, seed=9), warm_start=first.archive.genomes))
    known = {tuple(row) for row in begun.archive.objectives.tolist()}
    taken = first.archive.objectives[:59]
    assert {tuple(row) for row in taken.tolist()} <= known


def test_hash_tells_genomes_apart():
    """None has none; another bit is another hash."""
    genomes = np.array([[1.0, 2.0]])
    assert hash_of(None) is None
    assert hash_of(genomes) == hash_of(genomes.copy())
    assert hash_of(genomes) != hash_of(np.nextafter(genomes, 9.0))


def test_a_file_of_another_kind_is_said_to_be_one(tmp_path):
    """It is there, so that it is no run that is missing."""
    (tmp_path / "front.parquet").write_bytes(b"PAR1")
    with pytest.raises(ConfigError, match=r"\.parquet: name a \.json or \.csv file, or a run"):
        load_genomes(str(tmp_path / "front.parquet"), SELLER, tmp_path)
