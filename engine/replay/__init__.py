"""Replays of the batch engine's trades: the reference compiled, in threads, and the certificate."""

from engine.certificate import Certificate
from engine.replay.certificate import certify

__all__ = ["Certificate", "certify"]
