"""Other doors to the same vault: long-term memory of AgentScope, typed memories.

May import vault, index, memory and pipelines.
"""
