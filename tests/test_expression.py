"""Expressions are what ``re.compile`` returns, made later."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import agentscope_reme
from agentscope_reme.expression import expression

PACKAGE = Path(agentscope_reme.__file__).parent
SOURCES = {
    path.relative_to(PACKAGE.parent).with_suffix("").as_posix().replace("/", ".")
    for path in PACKAGE.rglob("*.py")
    if " = expression(" in path.read_text(encoding="utf-8")
}


@pytest.mark.parametrize("module", sorted(SOURCES))
def test_every_expression_of_the_package_can_be_compiled(module: str) -> None:
    found = [value for value in vars(import_module(module)).values() if type(value) is type(expression(""))]
    assert found
    for value in found:
        assert re.compile(value.pattern, value.flags).groups == value.groups


def test_an_expression_answers_as_a_compiled_one_does() -> None:
    for source, flags in ((r"(?P<letter>[a-c])(\d)?", re.IGNORECASE), (r"^b", re.MULTILINE), ("é", 0)):
        late, compiled = expression(source, flags), re.compile(source, flags)
        for text in ("A1b\nb2é", "", "xyz"):
            for method in ("match", "search", "fullmatch"):
                ours, theirs = getattr(late, method)(text), getattr(compiled, method)(text)
                assert (ours and (ours.span(), ours.groupdict())) == (theirs and (theirs.span(), theirs.groupdict()))
            assert [one.span() for one in late.finditer(text, 1)] == [one.span() for one in compiled.finditer(text, 1)]
            assert late.findall(text) == compiled.findall(text)
            assert late.split(text) == compiled.split(text)
            assert late.sub("-", text, count=1) == compiled.sub("-", text, count=1)
            assert late.subn("-", text) == compiled.subn("-", text)


def test_an_expression_that_is_wrong_says_so_when_it_is_used() -> None:
    wrong = expression("(")
    for _ in range(2):
        with pytest.raises(re.error, match="unterminated"):
            wrong.search("a")


def test_an_expression_has_no_more_than_a_compiled_one() -> None:
    with pytest.raises(AttributeError):
        expression("a").matches("a")  # type: ignore[attr-defined]
