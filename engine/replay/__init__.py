"""Replaying what the batch engine says: the reference compiled, in threads, and the certificate."""

from engine.certificate import Certificate
from engine.replay.certificate import certify

__all__ = ["Certificate", "certify"]
