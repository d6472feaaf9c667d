"""The reference in each of its forms."""

from engine.reference import Reference, as_it_reads
from engine.runtime.compiling.forms import CompiledForm

FORMS = {"reference": as_it_reads, "compiled_reference": CompiledForm()}
"""By the names that tests have for them."""


def compiled_reference(*arguments):
    """A reference whose loops are compiled, for markets on which plain Python takes long."""
    return Reference(*arguments, form=FORMS["compiled_reference"])
