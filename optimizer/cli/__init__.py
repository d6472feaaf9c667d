"""The command line: one file a command or a word of commands, which declares and runs them."""
