"""Every operation once: name, typed parameters, docstring, function. Command line and servers are made from it.

An operation is an async function whose first parameter is a ReMe. ``registry`` reads the rest from its signature, so a
surface cannot drift from what it calls. Nothing here knows AgentScope or a surface.
"""
