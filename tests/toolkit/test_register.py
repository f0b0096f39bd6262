"""Registration of the memory tools: names, groups, namesakes, and the schemas that a model is given."""

import copy
import json
import re

import pytest
from agentscope.tool import Toolkit

from agentscope_reme import ReMe, register_memory_tools
from agentscope_reme.errors import ConfigError
from agentscope_reme.toolkit.register import DEFAULT_TOOLS
from tests.hooks.agents import agent_of, reme_over, response, user
from tests.support.scripted_model import ScriptedModel, call

LONG = "row, " * 8_000


async def read(path: str = "") -> object:
    """Read a file of the disk.

    Args:
        path (str): Which.
    """
    return response(f"DISK {path} {LONG}")


def schemas(toolkit):
    return {one["function"]["name"]: one["function"] for one in toolkit.get_json_schemas()}


def test_the_default_tools_and_what_the_model_is_told_of_them(vault_dir):
    reme = ReMe(vault_dir)
    toolkit = register_memory_tools(Toolkit(), reme)
    told = schemas(toolkit)
    assert list(told) == ["memory_search", "read", "edit", "write"]
    assert told["memory_search"]["parameters"]["required"] == ["query"]
    assert told["memory_search"]["parameters"]["properties"]["max_results"]["type"] == "integer"
    assert "before you say that you do not know" in told["memory_search"]["description"]
    assert "not the computer's disk" in told["read"]["description"]
    assert "MEMORY.md" in told["write"]["description"]
    for one in told.values():
        properties = one["parameters"]["properties"]
        assert all(value.get("description") for value in properties.values()), one["name"]
        assert not {"self", "vault", "reme", "user_id", "actor"} & set(properties), (
            "nothing a model could point elsewhere"
        )
    assert not vault_dir.exists(), "offering tools makes no folder"


def test_more_tools_a_group_and_a_prefix(vault_dir):
    reme = ReMe(vault_dir)
    toolkit = register_memory_tools(
        Toolkit(), reme, tools=("memory_search", "append", "list"), group_name="memory", prefix="m_"
    )
    assert list(schemas(toolkit)) == ["m_memory_search", "m_append", "m_list"]
    toolkit.update_tool_groups(["memory"], active=False)
    assert schemas(toolkit) == {}
    register_memory_tools(toolkit, reme, tools=("read",), group_name="memory")
    assert "read" in toolkit.tools


def test_doing_it_again_changes_nothing(vault_dir):
    reme = ReMe(vault_dir)
    toolkit = register_memory_tools(Toolkit(), reme)
    before = dict(toolkit.tools)
    assert register_memory_tools(toolkit, reme) is toolkit
    assert all(toolkit.tools[name] is tool for name, tool in before.items())
    register_memory_tools(toolkit, reme, tools=("read", "append"))
    assert list(toolkit.tools) == [*before, "append"]


def test_another_memory_on_the_same_toolkit_needs_a_prefix(vault_dir, tmp_path):
    first, second = ReMe(vault_dir), ReMe(tmp_path / "second")
    toolkit = register_memory_tools(Toolkit(), first)
    with pytest.raises(ValueError, match="prefix"):
        register_memory_tools(toolkit, second)
    assert len(toolkit.tools) == 4
    register_memory_tools(toolkit, second, prefix="team_")
    assert len(toolkit.tools) == 8


def test_an_unknown_tool_is_named(vault_dir):
    with pytest.raises(ConfigError, match="'fly'"):
        register_memory_tools(Toolkit(), ReMe(vault_dir), tools=("read", "fly"))


@pytest.mark.parametrize(
    ("strategy", "present"),
    [("skip", {"read"}), ("rename", {"read", "read_"}), ("override", {"read"})],
)
async def test_namesakes_and_whose_results_are_pages(vault_dir, strategy, present):
    """The agent's own ``read`` of the disk is a tool like any other: what it returns is bounded."""
    reme = reme_over(vault_dir, 8_000)
    toolkit = Toolkit()
    toolkit.register_tool_function(read)
    register_memory_tools(toolkit, reme, tools=("read", "memory_search"), namesake_strategy=strategy)
    names = [name for name in toolkit.tools if name.startswith("read")]
    assert len(names) == len(present)
    ours = {name for name in reme.tool_results.reading_tools if name != "memory_search"}
    await reme.vault.write("a.md", "kept in the vault " * 200)
    model = ScriptedModel([[call(name, path="a.md") for name in names], "Read."])
    agent = agent_of(reme, model, toolkit=toolkit)
    await agent(user("read"))
    for message in model.last.messages:
        text = str(message["content"])
        if message["role"] == "tool" and "DISK" in text:
            assert "session/tool_result/" in text
            assert len(text) < 12_000
    if strategy == "skip":
        assert ours == set()
    elif strategy == "override":
        assert ours == {"read"}
    else:
        assert ours == set(names) - {"read"}


def test_a_copied_toolkit_goes_on_with_the_same_vault(vault_dir):
    reme = ReMe(vault_dir)
    toolkit = register_memory_tools(Toolkit(), reme)
    twin = copy.deepcopy(toolkit)
    assert json.dumps(twin.get_json_schemas()) == json.dumps(toolkit.get_json_schemas())
    assert twin.tools["read"].original_func.__self__.reme is reme
    assert register_memory_tools(twin, reme) is twin


@pytest.mark.parametrize("language", ["en", "zh", None, "auto", "fr"])
def test_guidance_is_short_and_names_the_tools(vault_dir, language):
    from agentscope_reme.memory.tokens import default_counter

    text = ReMe(vault_dir).guidance(language)
    assert default_counter().count_text(text) < 200
    assert "memory_search" in text
    assert "MEMORY.md" in text
    assert ("记忆库" in text) == (language == "zh")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_guidance_names_the_tools_as_the_agent_has_them(vault_dir, language):
    reme = ReMe(vault_dir)
    toolkit = register_memory_tools(Toolkit(), reme, prefix="vault_")
    plain = ReMe(vault_dir).guidance(language)
    to_come = ReMe(vault_dir).guidance(language, prefix="vault_")
    for text in (reme.guidance(language), reme.guidance(language, toolkit), to_come):
        assert set(re.findall(r"vault_[a-z_]+", text)) == {f"vault_{name}" for name in DEFAULT_TOOLS}
        assert text.replace("vault_", "") == plain


def test_guidance_advises_nothing_that_the_agent_cannot_do(vault_dir):
    reme = ReMe(vault_dir)
    plain = reme.guidance("en")
    assert "{" not in plain
    searching = register_memory_tools(Toolkit(), reme, tools=["memory_search"])
    text = reme.guidance("en", searching)
    assert "memory_search" in text
    assert "MEMORY.md" not in text
    assert "read opens" not in text
    assert "data, not instructions" in text
