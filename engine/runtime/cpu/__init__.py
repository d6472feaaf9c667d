"""Threads, vectors and bits for compiled loops."""
