"""One run from its configuration to a certified front, and what is read of it later."""
