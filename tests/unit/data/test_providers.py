"""Finding the source that a spec names."""

import subprocess
import sys

import pytest

from data import PROVIDERS
from data.errors import SourceError
from data.providers import find_provider


@pytest.mark.parametrize(
    ("spec", "name", "address"),
    [
        ("sample", "sample", ""),
        ("csv:a.csv", "csv", "a.csv"),
        ("csv:C:/x:y.csv", "csv", "C:/x:y.csv"),
        ("parquet:a", "parquet", "a"),
        ("dir/a.csv", "csv", "dir/a.csv"),
        ("a.CSV.GZ", "csv", "a.CSV.GZ"),
        ("a.parquet", "parquet", "a.parquet"),
        ("a.feather", "feather", "a.feather"),
        ("a.csv#BTC/USD", "csv", "a.csv#BTC/USD"),
    ],
)
def test_spec_names_a_source_and_an_address(spec, name, address):
    """The name stands before the first colon; a bare path is recognised by its ending."""
    provider, actual = find_provider(spec)
    assert (name, address) == (provider.name, actual)


@pytest.mark.parametrize("spec", ["", "a.txt", "folder", "a.parquet.bak", ":a.csv", "x:a.csv"])
def test_unknown_source_lists_the_known(spec):
    """The message shows how each source is written."""
    with pytest.raises(
        SourceError, match=r"known: ccxt:.*, csv:PATH, feather:PATH, parquet:PATH, polygon:SYMBOL"
    ):
        find_provider(spec)


@pytest.mark.parametrize(
    ("spec", "meant"), [("smaple", "sample"), ("CSV:a.csv", "csv"), ("parqet:a", "parquet")]
)
def test_near_miss_gets_a_hint(spec, meant):
    """A typing error is answered with the source that was meant."""
    with pytest.raises(SourceError, match=f"did you mean '{meant}'"):
        find_provider(spec)


def test_long_spec_does_not_flood_the_message():
    """Only the start of what was given is shown."""
    with pytest.raises(SourceError) as caught:
        find_provider("x" * 100_000)
    assert len(str(caught.value)) < 200


def test_registry_is_keyed_by_name():
    """Each provider is found under its own name and has its own module."""
    assert all(name == provider.name for name, provider in PROVIDERS.items())
    assert len({provider.module for provider in PROVIDERS.values()}) == len(PROVIDERS)


def test_naming_sources_loads_no_library():
    """Importing the package costs neither pandas nor pyarrow."""
    code = "import data, sys; print(sorted({'pandas', 'pyarrow'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
