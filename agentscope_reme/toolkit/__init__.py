"""The tools an agent calls, and how they are registered. May import everything below them."""
