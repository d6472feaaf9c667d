"""A backend in a process of its own, so that a device that fails takes nothing else with it.

After an illegal address a GPU answers its process with errors only. Here that process is a child:
the parent keeps the population, the random numbers and the record, replaces the child, fills its
rows anew, and asks again; the bits are the same.
"""

from engine.backends.isolated.calls import Child
from engine.backends.isolated.maker import CHILD, IsolatedMaker, child_command
from engine.backends.isolated.parent import IsolatedBackend
from engine.backends.isolated.work import Work

__all__ = ["CHILD", "Child", "IsolatedBackend", "IsolatedMaker", "Work", "child_command"]
