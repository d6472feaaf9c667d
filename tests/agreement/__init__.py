"""What other programs say of the same bars, beside what is said here: docs/agreement.md."""
