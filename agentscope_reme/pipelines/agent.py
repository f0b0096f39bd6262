"""Planner: asks a chat model for a structured plan, which the pipelines check and carry out.

The model holds no tools that act: it is offered one function, whose arguments are the plan, and nothing happens until
the plan is valid. It is called directly and not through a ``ReActAgent``, whose class-level hooks would fire inside.
"""

import asyncio
import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from ..errors import ReMeError
from ..prompts import load_prompt
from .fence import fenced
from .forms import Form, readings, salvaged
from .replies import candidates, shown

if TYPE_CHECKING:
    from agentscope.formatter import FormatterBase
    from agentscope.model import ChatModelBase

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=BaseModel)

TOOL = "submit_plan"
"""The function whose arguments are the plan."""

_SHOWN_CHARS = 6_000
_MOST_ERRORS = 10
_TOO_LONG = re.compile(
    r"context.{0,20}(length|window|limit)|maximum context|too (long|large|many tokens)|token limit|input.{0,12}length"
    r"|exceed.{0,40}token|range of input length",
    re.IGNORECASE,
)
_NAMES_TOOLS = re.compile(r"tool|function", re.IGNORECASE)
_FLEETING = re.compile(r"\b(429|401|403|50[0-9])\b|rate.?limit|quota|overloaded|api.?key|authenticat", re.IGNORECASE)

PlanReason = Literal["timeout", "model", "malformed", "too_long"]


class PlanError(ReMeError):
    """There is no plan. ``reason``: ``timeout`` (the limit is up), ``model`` (it failed; asking again later may help),
    ``malformed`` (no valid plan, also not after the error was shown), ``too_long`` (the request, for the model).
    """

    def __init__(self, reason: PlanReason, detail: str) -> None:
        super().__init__(detail)
        self.reason: PlanReason = reason


class Planner:
    """Asks a model for plans. Any AgentScope chat model will do, streaming or not, with tool calls or without.

    Args:
        model: The chat model.
        formatter: The formatter of that model; without one, plain ``{"role", "content"}`` messages are sent.
        timeout: Seconds for one plan, all its calls together.
        repairs: How often a model whose reply is no valid plan is told so and asked again.
    """

    def __init__(
        self,
        model: "ChatModelBase",
        formatter: "FormatterBase | None" = None,
        *,
        timeout: float = 120.0,
        repairs: int = 1,
    ) -> None:
        self.model = model
        self.formatter = formatter
        self.timeout = timeout
        self.repairs = repairs
        self._calls_tools = True

    async def plan(
        self,
        schema: type[T],
        *,
        system: str,
        user: str,
        check: Callable[[T], None] | None = None,
        language: str = "en",
    ) -> T:
        """Return the model's plan.

        Args:
            schema: What a plan is; its descriptions tell the model what goes where.
            system: What to do. Holds no data: whatever somebody wrote belongs into ``user``.
            user: The data, each piece in a fence of :func:`~agentscope_reme.pipelines.fence.fenced`.
            check: Raises ValueError, with a sentence for the model, when a plan of the right form cannot be carried
                out; that counts as malformed.
            language: ``en`` or ``zh``, of what is added to the prompts.

        Raises:
            PlanError: There is none; ``reason`` says why. Nothing was changed.
        """
        limit = asyncio.timeout(self.timeout)
        try:
            async with limit:
                return await self._plan(schema, system, user, check, language)
        except PlanError:
            raise
        except Exception as error:
            if isinstance(error, TimeoutError) and limit.expired():
                raise PlanError("timeout", f"the model gave no plan within {self.timeout:g} s") from error
            reason: PlanReason = "too_long" if _TOO_LONG.search(str(error)) else "model"
            raise PlanError(reason, f"the model failed: {_brief(error)}") from error

    async def _plan(
        self, schema: type[T], system: str, user: str, check: Callable[[T], None] | None, language: str
    ) -> T:
        request, replied = user, ""
        rest: T | None = None
        for attempt in range(self.repairs + 1):
            blocks = await self._ask(schema, system, request, language)
            plan, problem, usable = await asyncio.to_thread(_read, schema, blocks, check)
            if plan is not None:
                return plan
            reply, rest = shown(blocks), usable or rest
            logger.info("A model's plan is not usable (%s).", problem)
            if attempt and reply == replied and rest is None:
                raise PlanError("malformed", f"the model gave the same unusable plan twice: {problem}")
            replied = reply
            again = load_prompt("plan_repair", language)
            request = f"{user}\n\n{fenced('answer', reply[:_SHOWN_CHARS])}\n\n{again}\n\n{problem}"
        if rest is not None:
            return rest
        raise PlanError("malformed", f"the model gave no usable plan: {problem}")

    async def _ask(self, schema: type[BaseModel], system: str, user: str, language: str) -> Sequence[Mapping[str, Any]]:
        refused = False
        if self._calls_tools:
            asked = f"{system}\n\n{load_prompt('plan_tool', language).replace('{tool}', TOOL)}"
            try:
                return await self._call(asked, user, tools=[_tool(schema)], tool_choice=TOOL)
            except Exception as error:
                if not _may_be_about_tools(error):
                    raise
                refused = isinstance(error, TypeError | NotImplementedError) or bool(_NAMES_TOOLS.search(str(error)))
                logger.info("A request with a tool failed (%s); asking for plain text.", _brief(error))
        form = json.dumps(plain_schema(schema), ensure_ascii=False)
        asked = f"{system}\n\n{load_prompt('plan_text', language)}\n\n{form}"
        blocks = await self._call(asked, user)
        if refused:
            self._calls_tools = False  # it answers without: the next plan need not be refused first
        return blocks

    async def _call(self, system: str, user: str, **options: Any) -> Sequence[Mapping[str, Any]]:
        from agentscope.message import Msg

        if self.formatter is not None:
            prompt: Any = await self.formatter.format([Msg("system", system, "system"), Msg("user", user, "user")])
        else:
            prompt = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        response: Any = await self.model(prompt, **options)
        # Asked of the type: a ChatResponse answers an unknown attribute with KeyError, which hasattr lets through.
        if hasattr(type(response), "__aiter__"):
            last = None
            async for chunk in response:  # chunks are cumulative
                last = chunk
            response = last
        return [block for block in getattr(response, "content", None) or [] if isinstance(block, Mapping)]


def _read(
    schema: type[T], blocks: Sequence[Mapping[str, Any]], check: Callable[[T], None] | None
) -> tuple[T | None, str, T | None]:
    """The plan in a reply; or what is wrong with it, and a plan of what is not wrong with it."""
    problems: list[str] = []
    usable: T | None = None
    for candidate in candidates(blocks, TOOL):
        for value in readings(schema, candidate):
            try:
                plan = schema.model_validate(value)
                if check is not None:
                    check(plan)
            except ValidationError as error:
                problems.append(_told(error))
                usable = usable or _rest(schema, value, error, check)
            except ValueError as error:
                problems.append(str(error))
            else:
                return plan, "", None
    if problems:
        return None, problems[0], usable
    fields = ", ".join(schema.model_fields)
    return None, f"there is no complete JSON object in it that has any of: {fields}", None


def _rest(
    schema: type[T], value: Mapping[str, Any], error: ValidationError, check: Callable[[T], None] | None
) -> T | None:
    """What can be used of a plan in whose lists something cannot, if the form can say so."""
    if not issubclass(schema, Form) or (found := salvaged(schema, value, error)) is None:
        return None
    try:
        plan = schema.model_validate(found[0])
        if check is not None:
            check(plan)
    except ValueError:
        return None
    plan._left_out.extend(found[1])
    return plan


def _told(error: ValidationError) -> str:
    lines = [
        f"{'.'.join(str(part) for part in one['loc']) or 'the object'}: {one['msg']}"
        for one in error.errors(include_url=False, include_context=False, include_input=False)[:_MOST_ERRORS]
    ]
    return "; ".join(lines)


def plain_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of a model as every endpoint reads it: no references, no titles, no "or null"."""
    whole = schema.model_json_schema()
    parts = whole.pop("$defs", {})

    def plain(value: Any, *, is_fields: bool = False) -> Any:
        if isinstance(value, list):
            return [plain(one) for one in value]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            rest = {key: one for key, one in value.items() if key != "$ref"}
            return plain({**parts[value["$ref"].rpartition("/")[2]], **rest})
        choices = [one for one in value.get("anyOf", ()) if one != {"type": "null"}]
        if len(choices) == 1:
            value = {**{key: one for key, one in value.items() if key != "anyOf"}, **choices[0]}
        kept = {key: one for key, one in value.items() if is_fields or key != "title"}
        return {key: plain(one, is_fields=key == "properties") for key, one in kept.items()}

    made: dict[str, Any] = plain(whole)
    return made


def _tool(schema: type[BaseModel]) -> dict[str, Any]:
    form = plain_schema(schema)
    about = " ".join(str(form.pop("description", "") or "The plan.").split())
    return {"type": "function", "function": {"name": TOOL, "description": about, "parameters": form}}


def _may_be_about_tools(error: Exception) -> bool:
    """Whether the same request without a tool may succeed: not when the endpoint is down, busy or not for us."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status in (400, 404, 405, 415, 422, 501) and not _TOO_LONG.search(str(error))
    if isinstance(error, OSError | TimeoutError):
        return False
    return not _TOO_LONG.search(str(error)) and not _FLEETING.search(str(error))


def _brief(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__
