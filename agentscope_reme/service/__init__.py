"""Programs: the command line, the demo. The top layer; nothing imports it."""
