"""Tests of the project, by kind, then mirroring the packages."""
