"""A loop that a test compiles for many types."""

from engine.runtime.compiling.loops import compiled_loop


@compiled_loop
def double_values(values):
    """Each value twice."""
    out = values.copy()
    for i in range(values.size):
        out[i] = 2 * values[i]
    return out
