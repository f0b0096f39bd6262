"""The command line: a command for each operation of ``jobs``, and the demo.

Answers go to standard output, remarks and errors to standard error. Exit codes: 0 done, 1 refused or failed (one
sentence says why), 2 the command itself is wrong. AgentScope is imported by the demo only, so the others start at once.
"""

import asyncio
import inspect
import os
import re
import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer

from .._version import __version__
from ..errors import ReMeError
from ..jobs.registry import Job, Parameter, job_named, jobs

if TYPE_CHECKING:
    from ..config import ReMeConfig


def _folder(text: "str | Path") -> Path:
    if not str(text).strip():
        raise typer.BadParameter("it names no folder; write . for the present one")  # an empty variable, most likely
    return Path(text)


_VAULT = Annotated[
    Path,
    typer.Option("--vault", envvar="REME_VAULT", help="Folder of the vault.", parser=_folder, metavar="<path>"),
]
_JSON = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
_SET = Annotated[
    list[str],
    typer.Option(
        "--set",
        envvar="REME_SET",
        help="A setting as KEY=VALUE, such as link_resolution=obsidian; give what the agents of this vault are given.",
        metavar="<key=value>",
    ),
]
_OPTION = re.compile(r"--[a-z][a-z-]*(?:=.*)?", re.DOTALL)
_DEFAULT_VAULT = Path(".reme")
# A person who asks a large new vault sees how far it is and waits for the answer; an agent gets what is known by then.
_SEARCH_WAIT = 600.0
_QUIET = 0.5  # seconds before a bar is shown


def main() -> None:
    """Entry point of ``agentscope-reme``."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            # A terminal that cannot show a character must not turn an answer into an error.
            reconfigure(errors="replace")
    make_app(asked_for(sys.argv[1:]))(prog_name="agentscope-reme")


def asked_for(arguments: list[str]) -> Job | None:
    """The operation that a command line begins with, if it does: the options of the whole take no values."""
    name = next((argument for argument in arguments if not argument.startswith("-")), "")
    return job_named(name) if arguments[:1] == [name] else None


def make_app(only: Job | None = None) -> typer.Typer:
    """The command line application, made from the list of operations, or of one that is asked for: quicker by far."""
    app = typer.Typer(
        help="Memory for AgentScope agents, kept as files: read it, search it, look after it.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_global_options)
    for job in jobs().values() if only is None else (only,):
        app.command(job.name, help=job.description, context_settings=_settings(job))(_command(job))
    app.command("demo")(demo)
    return app


def _settings(job: Job) -> dict[str, Any]:
    """A text that begins with a dash, as every list item does, is a text: such a command has no short options."""
    if any(parameter.long_text for parameter in job.parameters):
        return {"ignore_unknown_options": True, "help_option_names": ["--help"]}
    return {}


def _global_options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=lambda v: _version(v)),
    ] = False,
) -> None:
    pass


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


def demo(
    plain: Annotated[bool, typer.Option("--plain", help="Plain lines, for logs: no colour, no boxes.")] = False,
    vault: Annotated[
        Path | None, typer.Option("--vault", help="Keep the vault in this folder, which must be new or empty.")
    ] = None,
    model: Annotated[
        str, typer.Option("--model", envvar="REME_MODEL", help="Name of the model, when a key is set.")
    ] = "",
) -> None:
    """Watch an agent remember: a long conversation in a small window, then questions about it in a new session.

    Runs offline on a small program that is not a language model. With DASHSCOPE_API_KEY, or OPENAI_API_KEY (and
    OPENAI_BASE_URL), it runs on that model.
    """
    from .demo import run_demo

    _exit_on_trouble(lambda: asyncio.run(run_demo(plain=plain, vault_dir=vault, model_name=model)))


def _exit_on_trouble(run: Callable[[], int]) -> None:
    try:
        code = run()
    except ReMeError as error:
        _say(str(error))
        code = 1
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        _say(f"{error.strerror or error}{where}")
        code = 1
    if code:
        raise typer.Exit(code)


def _say(remark: str) -> None:
    typer.echo(remark, err=True)


# --- A command for each operation ---------------------------------------------------------------------------------


def _command(job: Job) -> Callable[..., None]:
    """A function whose signature typer can read: the operation's parameters, then those of every command."""

    def command(vault: Path, settings: list[str], as_json: bool, **given: Any) -> None:
        _refuse_options(job, given)
        config = _config(vault, settings)

        def run() -> int:
            arguments = {parameter.name: _value(parameter, given[parameter.name]) for parameter in job.parameters}
            return _print(asyncio.run(_answer(job, config, arguments)), as_json)

        _exit_on_trouble(run)

    parameters = [_declared(parameter) for parameter in job.parameters]
    parameters.append(_keyword("vault", _VAULT, _DEFAULT_VAULT))
    parameters.append(_keyword("settings", _SET, []))
    parameters.append(_keyword("as_json", _JSON, False))
    command.__name__ = job.name
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _refuse_options(job: Job, given: dict[str, Any]) -> None:
    """A misspelt option is one, also where texts may begin with a dash: it must not become the name of a note."""
    if not _settings(job):
        return
    for parameter in job.parameters:
        value = given[parameter.name]
        if parameter.positional and not parameter.long_text and isinstance(value, str) and _OPTION.fullmatch(value):
            raise typer.BadParameter(f"no such option: {value}", param_hint=parameter.name)


def _declared(parameter: Parameter) -> inspect.Parameter:
    kind = parameter.type
    if get_origin(kind) is Literal:
        kind = _choice(parameter.name, get_args(kind))
    text = parameter.help + (" A - reads it from standard input." if parameter.long_text else "")
    if parameter.json_value:
        kind, text = str, f"{text} The name of a file of JSON or JSON lines, - for standard input, or the JSON itself."
    if _is_mapping(parameter):
        kind, text = list[str], f"{text} As KEY=VALUE, the value as one types it in a note."
    if parameter.positional:
        about = typer.Argument(help=text, show_default=False)
    else:
        about = typer.Option("--" + parameter.name.replace("_", "-"), help=text)
    return _keyword(parameter.name, Annotated[kind, about], parameter.default)


def _is_mapping(parameter: Parameter) -> bool:
    return get_origin(parameter.type) is dict


def _choice(name: str, values: tuple[str, ...]) -> type[Enum]:
    # An enumeration is how every supported typer declares a choice.
    return Enum(name, {value: value for value in values}, type=str)  # type: ignore[return-value]


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _value(parameter: Parameter, given: Any) -> Any:
    if isinstance(given, Enum):
        return given.value
    if parameter.long_text and given == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    if parameter.json_value:
        return None if given is None else _json(given)
    return _pairs(given) if _is_mapping(parameter) else given


def _json(given: str) -> Any:
    """JSON, or a line of JSON each, from standard input, from a file, or as it was given."""
    import json

    text = given
    if given == "-":
        text = sys.stdin.buffer.read().decode("utf-8-sig", "replace")
    elif not given.lstrip().startswith(("[", "{")):
        if not Path(given).is_file():
            raise ReMeError(f"There is no file {given}, and it is no JSON either.")
        text = Path(given).read_text("utf-8-sig", "replace")
    try:
        return json.loads(text)
    except ValueError as error:
        try:
            return [json.loads(line) for line in text.split("\n") if line.strip()]
        except ValueError:
            raise ReMeError(f"This is neither JSON nor JSON lines: {error}.") from error


def _pairs(given: list[str], example: str = "tags='[tea, 茶]' or pinned=true") -> dict[str, Any]:
    from ..vault.frontmatter import typed_value

    pairs = {}
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ReMeError(f"{pair!r} is not KEY=VALUE; write it as {example}")
        pairs[key.strip()] = typed_value(key.strip(), value)
    return pairs


def _config(vault: Path, settings: list[str]) -> "ReMeConfig":
    from ..config import ReMeConfig

    given: dict[str, Any] = {"search_wait": _SEARCH_WAIT, "vault_dir": vault}
    try:
        given |= _pairs(settings, "chinese=jieba or watch_quiet=0.5")
        if given["vault_dir"] != vault:
            raise ReMeError("vault_dir: --vault names the folder")
        return ReMeConfig.of(**given)
    except ReMeError as error:
        raise typer.BadParameter(str(error), param_hint="--set") from error


async def _answer(job: Job, config: "ReMeConfig", arguments: dict[str, Any]) -> Any:
    vault = config.vault_dir
    if job.needs_vault and not vault.is_dir():
        if vault.exists():
            raise ReMeError(f"{vault} is a file, not a folder; name the folder of a vault with --vault or REME_VAULT.")
        raise ReMeError(f"There is no vault at {vault}. Name one with --vault or REME_VAULT; a write makes a new one.")
    from ..reme import ReMe

    # The name of the model that needs no key: other ones are objects, which a command line cannot be given.
    model = os.environ.get("REME_EMBEDDING_MODEL") or None
    reme = ReMe(config=config, embedding_model=model)
    try:
        if job.bar:
            from .progress import with_bar

            return await with_bar(job(reme, **arguments), job.bar, lambda: reme.index.progress, after=_QUIET)
        return await job(reme, **arguments)
    finally:
        await reme.close()


def _print(value: Any, as_json: bool) -> int:
    from ..jobs import text
    from ..jobs.values import Diagnosis, Health
    from ..models import Response

    failed = (isinstance(value, Diagnosis) and not value.sound) or (isinstance(value, Response) and not value.success)
    failed = failed or (isinstance(value, Health) and not value.well)
    code = 1 if failed else 0
    if as_json:
        typer.echo(text.as_json(value))
        return code
    shown = text.as_text(value)
    if shown.body:
        typer.echo(shown.body, nl=not shown.body.endswith("\n"))
    if shown.remark:
        _say(shown.remark)
    return code


if __name__ == "__main__":
    main()
