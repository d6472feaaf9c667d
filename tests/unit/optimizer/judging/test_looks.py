"""Looks at held-out bars are counted wherever a run goes, by all that is known of them."""

import json
import shutil

import pytest

from optimizer.errors import ConfigError, StoreError
from optimizer.judging import holdout
from optimizer.judging.holdout import LOOKS, list_bar_ranges
from optimizer.judging.verdict import find_pick
from optimizer.store import RunStore
from optimizer.store.result import load_result
from tests.support.evidence import make_planted_market
from tests.support.judging import judge_briefly, recorded_run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def noise(tmp_path_factory):
    """A run on noise, a quarter of it held out; copied by each test that judges it."""
    bars = make_planted_market(7, 2500, 0)
    folder = tmp_path_factory.mktemp("noise")
    return recorded_run(folder, bars, population=48, min_trades=30, holdout="25%")


@pytest.fixture
def path(noise, tmp_path):
    """A copy of the run on noise that was never judged."""
    return shutil.copytree(noise, tmp_path / "runs" / noise.name)


@pytest.mark.parametrize("is_first", [True, False], ids=["first look", "another one since"])
def test_a_copy_counts_the_looks_that_it_knows(path, tmp_path, is_first):
    """Into a folder without a list of looks, a run brings those that were counted before."""
    looks = path.parent / LOOKS
    if not is_first:
        judge_briefly(path, is_open=True)
    bars = list_bar_ranges(part for part in read_result(path).data.windows if part.is_held_out)
    bars = [part.payload() for part in bars]
    looks.write_text(json.dumps([{"content": "", "bars": bars, "front": "another"}]))
    assert judge_briefly(path, is_open=True).held_out.looks == 2
    copy = shutil.copytree(path, tmp_path / "elsewhere" / "copy")
    assert judge_briefly(copy, is_open=True).held_out.looks == 2
    listed = json.loads((copy.parent / LOOKS).read_text())
    assert {part["front"] for part in listed} == {"another", read_result(path).front_hash}
    looks.unlink()
    assert judge_briefly(path, is_open=True).held_out.looks == 2


STRANGE = (
    "[1]",
    "[{}]",
    '[{"front": "a", "bars": 5}]',
    '[{"front": "a", "bars": [[1, 2, 3]]}]',
    '[{"front": 3, "bars": []}]',
    "{}",
    "[" * 100_000,
)


@pytest.mark.parametrize("text", STRANGE, ids=range(len(STRANGE)))
def test_a_list_that_is_none_of_looks_is_refused(path, text):
    """In one line; a folder of runs from elsewhere brings its list as well."""
    (path.parent / LOOKS).write_text(text)
    with pytest.raises(StoreError, match=r"looks\.json cannot be read .*: it counts looks"):
        judge_briefly(path, is_open=True)


def test_a_list_of_looks_without_an_end_takes_no_memory(path, monkeypatch):
    """A sparse file may have any size."""
    monkeypatch.setattr(holdout, "LARGEST_BYTES", 1000)
    with open(path.parent / LOOKS, "wb") as file:
        file.truncate(10**10)
    with pytest.raises(StoreError, match="is larger than 1,000 bytes"):
        judge_briefly(path, is_open=True)


def test_a_look_of_a_version_that_named_no_fronts_counts(path):
    """Its number is the least that there were."""
    front = read_result(path).front_hash
    with RunStore.open(path, writable=True) as store:
        store.add_evidence("opened", {"looks": 3, "front": front, "member": judged_pick(path)})
    assert judge_briefly(path, is_open=True).held_out.looks == 3


def test_a_copy_is_not_opened_with_another_pick(path, tmp_path):
    """Of the same front on the same bars, whichever copy was looked at first."""
    copy = shutil.copytree(path, tmp_path / "runs" / "copy")
    first = judge_briefly(copy, is_open=True)
    other = (first.pick.member + 1) % len(read_result(path).front)
    with pytest.raises(ConfigError, match=f"opened with member {first.pick.member} as the pick"):
        judge_briefly(path, is_open=True, pick=other)
    shutil.rmtree(copy)
    with pytest.raises(ConfigError, match=f"opened with member {first.pick.member} as the pick"):
        judge_briefly(path, is_open=True, pick=other)


def test_runs_of_a_folder_are_opened_once_for_all_looks(path, monkeypatch):
    """Besides once more to count searches: a folder may hold thousands of runs."""
    folders, opened = holdout.list_run_folders, []
    shutil.copytree(path, path.parent / "other")
    monkeypatch.setattr(
        holdout, "list_run_folders", lambda runs: opened.append(runs) or folders(runs)
    )
    assert judge_briefly(path, is_open=True).held_out.looks == 1
    assert opened == [path.parent] * 2


def judged_pick(path):
    """Number of the member that would be judged."""
    return find_pick(read_result(path), None).member


def read_result(path):
    """The result of a run."""
    with RunStore.open(path) as store:
        return load_result(store)
