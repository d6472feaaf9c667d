"""Every backend as a parameter of tests; one whose device is absent is skipped, with the reason."""

import pytest

from engine.devices import BACKENDS, why_absent
from tests.support.references import FORMS


def _parameter(name):
    marks = [] if name == "cpu" else [pytest.mark.gpu]
    reason = why_absent(name)
    if reason:
        marks.append(pytest.mark.skip(reason=f"no {name} device: {reason}"))
    return pytest.param(name, marks=marks)


BACKEND_PARAMETERS = [_parameter(name) for name in sorted(BACKENDS)]

ENGINE_PARAMETERS = [*map(pytest.param, FORMS), *BACKEND_PARAMETERS]
"""The reference in each of its forms, and every backend."""
