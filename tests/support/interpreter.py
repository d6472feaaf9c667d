"""Triton's interpreter without what it repeats: what it computes is the same.

It looks through all of Triton's language whenever a kernel begins or calls a function, to put its
own operations there, and makes a table of NumPy's types whenever it asks for one. That is half of
its time.
"""

from triton.runtime import interpreter


def repeat_nothing():
    """Put the operations in once for each module of kernels, and leave them; keep the types."""
    patch, look_up = interpreter._patch_lang, interpreter._get_np_dtype
    patched, types = set(), {}

    def patch_once(function):
        place = id(function.__globals__)
        if place not in patched:
            patched.add(place)
            patch(function)
        return interpreter._LangPatchScope()

    def type_of(told):
        name = told.scalar.name
        if name not in types:
            types[name] = look_up(told.scalar)
        return types[name]

    interpreter._patch_lang = patch_once
    interpreter._get_np_dtype = type_of
