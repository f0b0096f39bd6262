"""Everything derived from the files: chunks, terms, BM25, links, search. It can be deleted and rebuilt.

May import the vault; never AgentScope, and no other layer.
"""
