"""Many values in one test: one item in place of thousands from `parametrize`."""

import functools
import inspect


def each(name, values):
    """Run a test for every value of an argument, one after another, in one item.

    Collecting and reporting an item costs more than many of these tests do. The error of a value
    that fails carries a note with it.

    Args:
        name: Argument of the test.
        values: What it takes.
    """

    def decorate(test):
        signature = inspect.signature(test)
        left = [given for given in signature.parameters.values() if given.name != name]

        @functools.wraps(test)
        def over_all(**given):
            for value in values:
                try:
                    test(**given, **{name: value})
                except BaseException as error:
                    error.add_note(f"with {name} = {value!r}")
                    raise

        over_all.__signature__ = signature.replace(parameters=left)
        return over_all

    return decorate
