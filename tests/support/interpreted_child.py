"""A GPU's process without a GPU: the CUDA backend, interpreted, behind the child's frames.

Run as ``python -m tests.support.interpreted_child`` with TRITON_INTERPRET=1.
"""

from engine.backends.cuda import places
from engine.backends.isolated.child import serve
from engine.process import standard_pipes
from optimizer.isolated.child import Searcher
from tests.support.interpreted import Interpreted

if __name__ == "__main__":
    places.FEWEST_ADMITTED = 2
    serve(lambda numbers: Interpreted, *standard_pipes(), Searcher)
