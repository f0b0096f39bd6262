"""Messages as long agent sessions have them; of AgentScope alone, so that other environments can make the same."""

from agentscope.message import Msg


def turn(i: int) -> list[Msg]:
    """Return the four messages of one turn: talk, a call and its result, Chinese and English."""
    call = {"id": f"c{i}", "name": "view"}
    return [
        Msg("user", f"Step {i}: please look at src/module_{i}.py, 然后告诉我第 {i} 行写了什么。 " * 2, "user"),
        Msg("agent", [{**call, "type": "tool_use", "input": {"path": f"m{i}.py"}}], "assistant"),
        Msg("system", [{**call, "type": "tool_result", "output": f"line of code {i}\n" * 20}], "system"),
        Msg("agent", [{"type": "text", "text": f"Line {i} is a handler. 第 {i} 行定义了处理函数。"}], "assistant"),
    ]


def conversation(count: int) -> list[Msg]:
    """Return that many messages."""
    return [message for i in range(0, count, 4) for message in turn(i)][:count]
