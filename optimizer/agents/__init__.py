"""Tools for agents over the Model Context Protocol; nothing above imports this room."""
