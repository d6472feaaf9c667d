"""Another order of programs for Triton's interpreter, which runs them one after the other."""

import contextlib

from triton.runtime.interpreter import interpreter_builder


@contextlib.contextmanager
def from_last_to_first():
    """Run the last program of each launch first: no result may depend on the order."""
    forwards = interpreter_builder.set_grid_idx

    def backwards(*index):
        forwards(*(n - 1 - i for n, i in zip(interpreter_builder.grid_dim, index, strict=True)))

    interpreter_builder.set_grid_idx = backwards
    try:
        yield
    finally:
        del interpreter_builder.set_grid_idx
