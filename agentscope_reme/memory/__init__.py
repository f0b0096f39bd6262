"""Working memory: what the model sees inside one conversation.

May import the vault, the index and AgentScope; not the pipelines, hooks or tools.
"""
