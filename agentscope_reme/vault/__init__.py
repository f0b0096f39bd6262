"""The files and nothing else: paths, durable writes, notes, the journal, history.

Canonical: what is here is the memory. Imports neither AgentScope nor any other layer of this package.
"""
