"""Conversations and documents become notes, and notes become knowledge.

May import the vault and the index; AgentScope only in ``agent.py``; not the working memory.
"""
