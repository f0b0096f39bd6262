"""The real AgentScope model classes, each with the stub of its provider and its formatters."""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
from agentscope import formatter as formatters
from agentscope import model as models

from .anthropic_stub import AnthropicStub
from .dashscope_stub import DashScopeStub
from .gemini_stub import GeminiStub
from .loopback import Loopback
from .ollama_stub import OllamaStub
from .openai_stub import OpenAIStub


@dataclass(frozen=True)
class Provider:
    """One provider: its stub, its SDK's module, and how AgentScope speaks to it."""

    name: str
    sdk: str
    stub: type[Loopback]
    make: Callable[[Any, bool], Any]
    chat_formatter: str
    multi_agent_formatter: str

    @property
    def is_installed(self) -> bool:
        return find_spec(self.sdk.split(".")[0]) is not None and find_spec(self.sdk) is not None

    def model(self, stub: Any, stream: bool) -> Any:
        """The AgentScope model that speaks to a running stub. Skips the test where the SDK is not installed."""
        if not self.is_installed:
            pytest.skip(f"the SDK of {self.name} ({self.sdk}) is not installed")
        return self.make(stub, stream)

    def formatter(self, kind: str = "chat") -> Any:
        """A formatter for it: ``chat`` or ``multi_agent``."""
        return getattr(formatters, self.chat_formatter if kind == "chat" else self.multi_agent_formatter)()

    def __str__(self) -> str:
        return self.name


def _openai(stub: Any, stream: bool) -> Any:
    client = {"base_url": stub.base_url, "max_retries": 0}
    return models.OpenAIChatModel("stub", api_key="none", stream=stream, client_kwargs=client)


def _dashscope(stub: Any, stream: bool) -> Any:
    return models.DashScopeChatModel("qwen-stub", api_key="none", stream=stream, base_http_api_url=stub.base_url)


def _anthropic(stub: Any, stream: bool) -> Any:
    client = {"base_url": stub.base_url, "max_retries": 0}
    return models.AnthropicChatModel("stub", api_key="none", stream=stream, client_kwargs=client)


def _gemini(stub: Any, stream: bool) -> Any:
    client = {"http_options": {"base_url": stub.base_url}}
    return models.GeminiChatModel("gemini-stub", api_key="none", stream=stream, client_kwargs=client)


def _ollama(stub: Any, stream: bool) -> Any:
    return models.OllamaChatModel("stub", stream=stream, host=stub.base_url)


PROVIDERS = [
    Provider("openai", "openai", OpenAIStub, _openai, "OpenAIChatFormatter", "OpenAIMultiAgentFormatter"),
    Provider(
        "dashscope", "dashscope", DashScopeStub, _dashscope, "DashScopeChatFormatter", "DashScopeMultiAgentFormatter"
    ),
    Provider(
        "anthropic", "anthropic", AnthropicStub, _anthropic, "AnthropicChatFormatter", "AnthropicMultiAgentFormatter"
    ),
    Provider("gemini", "google.genai", GeminiStub, _gemini, "GeminiChatFormatter", "GeminiMultiAgentFormatter"),
    Provider("ollama", "ollama", OllamaStub, _ollama, "OllamaChatFormatter", "OllamaMultiAgentFormatter"),
]


def look_through_sdks_once() -> None:
    """Import the SDKs that are installed, and have no later ``gc.collect()`` look at what they are made of."""
    for provider in PROVIDERS:
        if provider.is_installed:
            import_module(provider.sdk)
    gc.collect()
    gc.freeze()
