"""Replaying what the batch engine says: the reference compiled, in threads, and the certificate."""

from engine.replay.certificate import Certificate, certify

__all__ = ["Certificate", "certify"]
