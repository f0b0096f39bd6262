"""A model's client with connections of its own.

An open connection belongs to the event loop it was made on. The index calls models on a thread of its own, so its
connections must not be those that the owner of the model uses elsewhere: whoever meets the other's would fail.
"""

import copy
import logging
from typing import Any

log = logging.getLogger(__name__)


def with_own_connections(model: Any) -> Any:
    """The same model with other connections, where it is one of AgentScope's own over HTTPX; else the model itself.

    Addresses, keys, proxies and certificates are the same. A class of the user's may count or keep what it is asked:
    it is never copied.
    """
    if not type(model).__module__.startswith("agentscope."):
        return model
    client: Any = getattr(model, "client", None)
    try:
        connections = _unconnected(client._client)
        if hasattr(client, "with_options"):  # OpenAI's
            own = client.copy(http_client=connections)
        else:  # Ollama's
            own = copy.copy(client)
            own._client = connections
        twin = copy.copy(model)
        twin.client = own
        return twin
    except Exception as error:  # inside of other libraries: what they look like may change
        log.debug("the connections of %s are shared (%s)", type(model).__name__, error)
        return model


def _unconnected(session: Any) -> Any:
    """An HTTPX client like another, without its open connections."""
    twin = copy.copy(session)
    twin._transport = _fresh(session._transport)
    twin._mounts = {pattern: _fresh(one) if one is not None else None for pattern, one in session._mounts.items()}
    return twin


def _fresh(transport: Any) -> Any:
    twin = copy.copy(transport)
    pool = twin._pool = copy.copy(transport._pool)
    # A pool that keeps its connections elsewhere raises here, and is shared.
    assert isinstance(pool._connections, list)
    assert isinstance(pool._requests, list)
    pool._connections, pool._requests = [], []
    return twin
