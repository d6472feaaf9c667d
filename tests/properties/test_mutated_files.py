"""Advice of the reader, followed on mutated files: what is read then equals what was written."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bench.mutated_files import WRONG, judge_file
from tests.support.mutated_files import HARMS, draw_file


def _describe(file, verdict):
    where = f"seed {file.seed}, {file.harm}, {file.dialect}: {verdict.end}"
    return "\n".join((where, *verdict.trail))


@pytest.mark.parametrize("part", range(10))
def test_advice_reads_bars_rightly_or_none(part, tmp_path):
    """No file is misread, and no advice makes it so: fixed seeds, forty a part."""
    for seed in range(40 * part, 40 * part + 40):
        file = draw_file(seed)
        verdict = judge_file(file, tmp_path)
        assert verdict.end not in WRONG, _describe(file, verdict)


@settings(derandomize=True, max_examples=60)
@given(st.integers(0, 10**9))
def test_advice_reads_files_of_far_seeds_rightly(tmp_path_factory, seed):
    """Nor is one of seeds far apart; `tests.bench.mutated_files` counts those of 20,000 files."""
    file = draw_file(seed)
    verdict = judge_file(file, tmp_path_factory.mktemp("drawn"))
    assert verdict.end not in WRONG, _describe(file, verdict)


def test_first_seeds_hold_each_harm():
    """The fixed seeds reach all that the generator can do."""
    assert {draw_file(seed).harm for seed in range(400)} == set(HARMS)
