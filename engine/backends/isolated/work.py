"""Work of another kind than evaluating, which a device's process does step by step."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from engine.wire import Array, Frame

Found = TypeVar("Found")
Given = TypeVar("Given", covariant=True)

AHEAD = 2
"""Steps that are asked for ahead, so that the child goes on while the parent looks at one."""

FIRST_STEPS = 3
"""Steps of a process that may compile; they say nothing of how long others take."""

STEP = "step"
"""What asks for a step; told are the number of an area and its bytes.

The answer tells ``"places"`` of arrays in the area and the ``"bytes"`` that it has by then, or
``"is_over"``.
"""


class Work(Protocol[Given]):
    """Work that can be taken up by another process after each of its steps."""

    @property
    def opening(self) -> Frame:
        """What asks a child to begin, behind the last step that was taken.

        The child answers ``"done"``; one that knows nothing of such work says so.
        """

    def take(self, answer: Frame, arrays: Sequence[Array]) -> Given:
        """What a step has found.

        Args:
            answer: What was told.
            arrays: Memory that the next step may write to.

        Raises:
            ValueError, TypeError, KeyError: When that cannot be.
            EngineError or any other: When the work cannot go on, in whatever process.
        """
