"""What the demo shows: lines for a log, or colours and boxes for a terminal. Only what was measured is printed."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_WIDEST = 110
_GAUGE = 10


@dataclass(frozen=True, slots=True)
class Gauge:
    """How full the context is, in tokens."""

    tokens: int
    window: int

    def bar(self, width: int = _GAUGE) -> str:
        """A bar of block characters; a context that holds anything shows at least one."""
        filled = max(1, round(width * self.tokens / self.window)) if self.tokens else 0
        return "▇" * min(width, filled)

    def __str__(self) -> str:
        return f"{self.tokens:,}"


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call and where its result went; sizes in bytes. ``stored`` is "" when the result stayed whole."""

    call: str
    size: int
    kept: int
    stored: str

    def lines(self) -> list[str]:
        """What came back and what became of it, a fact a line."""
        if not self.stored:
            return [f"{self.call}: {kilobytes(self.size)}"]
        return [
            f"{self.call}: {kilobytes(self.size)}, {kilobytes(self.kept)} of it stay",
            f"the whole result is in {self.stored}",
        ]


@dataclass(frozen=True, slots=True)
class Folding:
    """One compaction, as measured: tokens by the memory's counter, lines of the journal, the checkpoint's size."""

    number: int
    before: Gauge
    after: Gauge
    moved: int
    journal: str
    first_line: int
    last_line: int
    checkpoint_tokens: int
    checkpoint: str
    also: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """What moved where, a fact a line."""
        count = f"{self.moved} messages" if self.moved != 1 else "1 message"
        return [
            f"{count}, word for word, to {self.journal} lines {self.first_line}-{self.last_line}",
            f"a checkpoint of {self.checkpoint_tokens:,} tokens takes their place: {self.checkpoint}",
            *self.also,
        ]


@dataclass(frozen=True, slots=True)
class Answered:
    """A question of the second session. ``checks`` are (fact, holds)."""

    question: str
    searched: str
    answer: str
    checks: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """An entry of the vault's tree: depth from 0, name, and what it is."""

    depth: int
    name: str
    about: str


def kilobytes(size: int) -> str:
    """A size in bytes, for people."""
    return f"{size / 1000:.1f} kB" if size >= 1000 else f"{size} bytes"


def clip(text: str, cells: int) -> str:
    """One line of at most so many terminal cells; a Chinese character takes two."""
    from rich.cells import cell_len, set_cell_size

    line = " ".join(text.split())
    return line if cell_len(line) <= cells else set_cell_size(line, max(1, cells - 1)).rstrip() + "…"


def day_name(day: str) -> str:
    """``2026-03-09`` as ``Monday 9 March 2026``, whatever the machine's language is."""
    months = (
        *("January", "February", "March", "April", "May", "June"),
        *("July", "August", "September", "October", "November", "December"),
    )
    weekdays = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    value = date.fromisoformat(day)
    return f"{weekdays[value.weekday()]} {value.day} {months[value.month - 1]} {value.year}"


def screen(plain: bool) -> "Screen":
    """The screen for this terminal; plain lines when asked for, or when the output is not a terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    if plain or not console.is_terminal:
        return PlainScreen()
    console.width = min(console.width, _WIDEST)
    return RichScreen(console)


class Screen(ABC):
    """The parts of the demo, in the order in which they are shown."""

    @abstractmethod
    def title(self, text: str, lines: Sequence[str]) -> None:
        """The head: what this is and what will happen."""

    @abstractmethod
    def part(self, text: str) -> None:
        """The beginning of a part."""

    @abstractmethod
    def day(self, day: str) -> None:
        """A new day of the story."""

    @abstractmethod
    def turn(self, time: str, said: str, context: Gauge) -> None:
        """What the user said, and how full the context is after the answer."""

    @abstractmethod
    def step(self, who: str, text: str) -> None:
        """What the agent did or answered, below the turn."""

    @abstractmethod
    def folding(self, folding: Folding) -> None:
        """A compaction."""

    @abstractmethod
    def checks(self, checks: Iterable[tuple[str, bool]]) -> None:
        """Facts that were checked, and whether they hold."""

    @abstractmethod
    def answered(self, number: int, answered: Answered) -> None:
        """A question, the search, the answer, the check of its citation."""

    @abstractmethod
    def tree(self, root: str, leaves: Sequence[Leaf]) -> None:
        """The files of the vault."""

    @abstractmethod
    def end(self, lines: Sequence[str]) -> None:
        """Where to go from here."""


class PlainScreen(Screen):
    """For logs: a line a fact, no colour, no boxes, a width that grep and diff can live with."""

    _width = 100

    def title(self, text: str, lines: Sequence[str]) -> None:
        self._print(text, *lines)

    def part(self, text: str) -> None:
        self._print("", f"== {text}")

    def day(self, day: str) -> None:
        self._print("", f"-- {day_name(day)}")

    def turn(self, time: str, said: str, context: Gauge) -> None:
        self._print(f"{time}  {context!s:>6} tokens  {clip(said, self._width - 24)}")

    def step(self, who: str, text: str) -> None:
        self._print(f"{'':>22}{who}: {clip(text, self._width - 24 - len(who))}")

    def folding(self, folding: Folding) -> None:
        head = (
            f"** compaction {folding.number}: {folding.before} -> {folding.after} of {folding.before.window:,} tokens"
        )
        self._print(head, *(f"   {clip(line, self._width)}" for line in folding.lines()))

    def checks(self, checks: Iterable[tuple[str, bool]]) -> None:
        self._print(*(f"{'ok  ' if holds else 'FAIL'}  {fact}" for fact, holds in checks))

    def answered(self, number: int, answered: Answered) -> None:
        self._print("", f"Q{number}  {answered.question}", f"    memory_search: {answered.searched}")
        self._print(*(f"    {line}" for line in answered.answer.splitlines()))
        self._print(*(f"    {'ok  ' if holds else 'FAIL'}  {fact}" for fact, holds in answered.checks))

    def tree(self, root: str, leaves: Sequence[Leaf]) -> None:
        from rich.cells import cell_len

        self._print(root)
        names = ["  " * (leaf.depth + 1) + leaf.name for leaf in leaves]
        width = max(map(cell_len, names), default=0) + 2
        for name, leaf in zip(names, leaves, strict=True):
            self._print(f"{name}{' ' * (width - cell_len(name))}{leaf.about}".rstrip())

    def end(self, lines: Sequence[str]) -> None:
        self._print("", *lines)

    def _print(self, *lines: str) -> None:
        for line in lines:
            print(line, flush=True)


class RichScreen(Screen):
    """For a terminal: colours, boxes, a gauge beside each turn."""

    def __init__(self, console: "Console") -> None:
        self._console = console

    def title(self, text: str, lines: Sequence[str]) -> None:
        from rich.panel import Panel

        self._console.print(
            Panel("\n".join(map(_escaped, lines)), title=f"[bold]{_escaped(text)}[/]", border_style="cyan")
        )

    def part(self, text: str) -> None:
        self._console.print()
        self._console.rule(f"[bold cyan]{_escaped(text)}[/]", align="left", style="cyan")

    def day(self, day: str) -> None:
        self._console.print(f"\n[bold]{day_name(day)}[/]")

    def turn(self, time: str, said: str, context: Gauge) -> None:
        colour = "green" if context.tokens < context.window / 2 else "yellow"
        bar = f"[{colour}]{context.bar():<{_GAUGE}}[/]"
        said = clip(said, self._console.width - 31)
        self._row(f"[dim]{time}[/]  {_escaped(said)}", f"{bar} [dim]{context!s:>6}[/]")

    def step(self, who: str, text: str) -> None:
        room = self._console.width - 12 - len(who)
        self._console.print(f"       [magenta]{_escaped(who)}[/] [dim]{_escaped(clip(text, room))}[/]")

    def folding(self, folding: Folding) -> None:
        from rich.panel import Panel

        width = 30
        head = (
            f"[yellow]{folding.before.bar(width)}[/] {folding.before}  →  "
            f"[green]{folding.after.bar(width)}[/] {folding.after} [dim]of {folding.before.window:,} tokens[/]"
        )
        lines = (_escaped(clip(line, self._console.width - 6)) for line in folding.lines())
        body = "\n".join([head, *(f"[dim]•[/] {line}" for line in lines)])
        title = f"[bold yellow]compaction {folding.number}[/]"
        self._console.print(Panel(body, title=title, title_align="left", border_style="yellow"))

    def checks(self, checks: Iterable[tuple[str, bool]]) -> None:
        for fact, holds in checks:
            self._console.print(f"{'[green]✓[/]' if holds else '[bold red]✗[/]'} {_escaped(fact)}")

    def answered(self, number: int, answered: Answered) -> None:
        from rich.panel import Panel

        checks = (
            f"{'[green]✓[/]' if holds else '[bold red]✗[/]'} [dim]{_escaped(fact)}[/]"
            for fact, holds in answered.checks
        )
        searched = f'[magenta]memory_search[/] [dim]"{_escaped(clip(answered.searched, self._console.width - 24))}"[/]'
        body = "\n".join([searched, "", _escaped(answered.answer), "", *checks])
        title = f"[bold]{number}. {_escaped(answered.question)}[/]"
        self._console.print(Panel(body, title=title, title_align="left", border_style="green"))

    def tree(self, root: str, leaves: Sequence[Leaf]) -> None:
        from rich.tree import Tree

        top = Tree(f"[bold]{_escaped(root)}[/]", guide_style="dim")
        branches: list[Any] = [top]
        for leaf in leaves:
            del branches[leaf.depth + 1 :]
            name = f"[cyan]{_escaped(leaf.name)}[/]" if leaf.name.endswith("/") else _escaped(leaf.name)
            branches.append(branches[leaf.depth].add(f"{name}  [dim]{_escaped(leaf.about)}[/]" if leaf.about else name))
        self._console.print(top)

    def end(self, lines: Sequence[str]) -> None:
        self._console.print()
        for line in lines:
            self._console.print(_escaped(line))

    def _row(self, left: str, right: str) -> None:
        from rich.table import Table

        row = Table.grid(expand=True)
        row.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        row.add_column(justify="right", no_wrap=True)
        row.add_row(left, right)
        self._console.print(row)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
