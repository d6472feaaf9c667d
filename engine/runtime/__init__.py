"""What the stages stand on: processors, memory, compilers, devices."""
