"""Processes that this one begins."""

import os
import sys

from optimizer.processes import ROOT, safe_variables


def test_a_child_finds_our_packages_where_this_process_found_them(tmp_path, monkeypatch):
    """Another checkout that an environment names comes after the working folder, as here."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path)])
    assert safe_variables()["PYTHONPATH"].split(os.pathsep) == [ROOT, str(tmp_path)]
    monkeypatch.chdir(tmp_path)
    assert safe_variables()["PYTHONPATH"].split(os.pathsep) == [ROOT]
