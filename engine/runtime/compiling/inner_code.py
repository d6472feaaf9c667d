"""Machine code of functions that are compiled within a loop and kept nowhere: none is made.

Each loop that calls such a function optimises and translates it as a part of itself anyhow. numba
did it for each function as well: of the reference, with calls eight deep, that
was a quarter of the time that compiling took.
"""

from typing import Any, cast

from numba.core.caching import NullCache
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.environment import lookup_environment

COMPILED: list[Any] = []
"""Loops that are compiled at the moment, each within the one before."""

SET_ENVIRONMENT: Any = JITCPUCodegen.set_env


class InnerCode(JITCodeLibrary):
    """Code of a loop, or of a function that only loops call."""

    def _optimize_functions(self, ll_module: Any) -> None:  # noqa: ANN401 - llvmlite has no types
        """Leave functions as they are: passes over all that is put together do the same again."""
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Put together all that it calls; translate it if it is kept, or called by Python."""
        is_inner = [isinstance(loop._cache, NullCache) for loop in COMPILED]
        if not is_inner or is_inner[0] or not is_inner[-1]:
            super().finalize()  # type: ignore[no-untyped-call]
            for variable in self._final_module.global_variables:
                environment = lookup_environment(variable.name)  # type: ignore[no-untyped-call]
                if environment is not None:
                    self.codegen.set_env(variable.name, environment)
            return
        for library in dict.fromkeys(self._linking_libraries):
            # Releases of numba before 0.63 have none.
            getattr(self, "_reload_init", set()).update(getattr(library, "_reload_init", ()))
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


def _set_environment(codegen: Any, name: str, environment: object) -> None:  # noqa: ANN401
    """Hand a function its environment, once it is translated."""
    if codegen._engine.is_symbol_defined(name):
        SET_ENVIRONMENT(codegen, name, environment)


JITCPUCodegen._library_class = InnerCode
cast(Any, JITCPUCodegen).set_env = _set_environment
