"""Runtime of the stages: processors, memory, compilers, devices."""
