"""What a plain function is made of is found in one order, in every process."""

from tests.support.commands import printed

PRINT_DIGEST = """
from engine.positions.reference import take_signals
from strategy.functions import collect_functions, encode_constants, text_digest
functions = collect_functions(take_signals)
assert len(functions) > 5
print(text_digest(take_signals), [f.__name__ for f in functions], list(encode_constants(functions)))
"""


def test_one_digest_in_every_process():
    """Python's sets have another order in each; a digest that had it would refuse to resume."""
    assert len({printed(PRINT_DIGEST, env={"PYTHONHASHSEED": seed}) for seed in "01"}) == 1
