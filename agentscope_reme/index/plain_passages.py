"""Text, logs, JSON, YAML and tables of values as passages."""

import csv
import re
from collections.abc import Iterator
from itertools import pairwise

from .passages import LONGEST_LINES, LONGEST_ROWS, Lines, Passage, divided, grouped, marked
from .speakers import speaker_names, speaker_of, turn_rows

_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")
_LONGEST_HEADER = 300


def read_text(lines: Lines, limit: int) -> Iterator[Passage]:
    """Paragraphs between blank lines; one without blank lines for long (a log) by a few lines at a time."""
    spans = list(_paragraphs(lines))
    names = speaker_names(["\n".join(lines.rows[begin:end]) for begin, end in spans])
    for begin, end in spans:
        rows = lines.rows[begin:end]
        cuts = sorted({0, *turn_rows(rows, names), len(rows)})
        for first, last in pairwise(cuts):
            size = sum(len(row) + 1 for row in rows[first:last])
            if size > limit and last - first > 3:
                yield from read_lines(lines, limit, begin + first, begin + last)
            elif span := lines.span(begin + first, begin + last):
                speaker = speaker_of(lines.text[span[0] : span[1]], names)
                yield from divided(lines.text, Passage(*span, speaker=speaker), limit)


def read_lines(lines: Lines, limit: int, begin: int = 0, end: int | None = None) -> Iterator[Passage]:
    """A few lines at a time (rows ``begin`` to ``end``): logs, code, pretty-printed JSON."""
    stop = len(lines.rows) if end is None else end
    for first, last in grouped((len(row) + 1 for row in lines.rows[begin:stop]), min(limit, LONGEST_LINES)):
        if span := lines.span(begin + first, begin + last):
            yield from divided(lines.text, Passage(*span), limit)


def read_json(lines: Lines, limit: int) -> Iterator[Passage]:
    """JSON by lines, with its ``\\u`` escapes read, so that text in any script is found."""
    for passage in read_lines(lines, limit):
        raw = lines.text[passage.start : passage.stop]
        if "\\u" in raw:
            yield passage._replace(text=unescaped(raw))
        else:
            yield passage


def read_yaml(lines: Lines, limit: int) -> Iterator[Passage]:
    """YAML by top-level entries, short ones together."""
    starts = [number for number, row in enumerate(lines.rows) if row[:1].strip() and row[0] not in "#}]"]
    cuts = sorted({0, *starts, len(lines.rows)})
    entries = list(pairwise(cuts))
    sizes = [sum(len(row) + 1 for row in lines.rows[begin:end]) for begin, end in entries]
    for first, last in grouped(sizes, min(limit, LONGEST_LINES)):
        if span := lines.span(entries[first][0], entries[last - 1][1]):
            yield from divided(lines.text, Passage(*span), limit)


def read_table(lines: Lines, limit: int, delimiter: str) -> Iterator[Passage]:
    """Records of a CSV or TSV file a few at a time, with the first record as the context of all but the first piece."""
    ends = _record_ends(lines.rows, delimiter)
    if not ends:
        yield from read_lines(lines, limit)
        return
    begins = [0, *ends[:-1]]
    header = "\n".join(lines.rows[: ends[0]]).strip()[:_LONGEST_HEADER]
    sizes = [sum(len(row) + 1 for row in lines.rows[b:e]) for b, e in zip(begins, ends, strict=True)]
    if len(sizes) > 1:
        sizes[:2] = [0, sizes[0] + sizes[1]]
    parts: list[Passage] = []
    for first, last in grouped(sizes, min(limit, LONGEST_ROWS)):
        if span := lines.span(begins[first], ends[last - 1]):
            pieces = divided(lines.text, Passage(*span), limit)
            parts.extend(
                piece._replace(context=header if first or number else "") for number, piece in enumerate(pieces)
            )
    yield from marked(parts)


def unescaped(text: str) -> str:
    """JSON text with its ``\\uXXXX`` escapes as characters; a half of a pair alone stays as it is written."""

    def character(match: re.Match[str]) -> str:
        units = bytes.fromhex(match.group().replace("\\u", ""))
        try:
            return units.decode("utf-16-be")
        except UnicodeDecodeError:
            return match.group()

    return _ESCAPES.sub(character, text)


def _paragraphs(lines: Lines) -> Iterator[tuple[int, int]]:
    begin = None
    for number, row in enumerate(lines.rows):
        if row.strip():
            begin = number if begin is None else begin
        elif begin is not None:
            yield begin, number
            begin = None
    if begin is not None:
        yield begin, len(lines.rows)


def _record_ends(rows: list[str], delimiter: str) -> list[int]:
    """The row after each record; [] when the file is no table that the csv module can read."""
    reader = csv.reader((row + "\n" for row in rows), delimiter=delimiter)
    ends = []
    try:
        for _ in reader:
            ends.append(reader.line_num)
    except csv.Error:
        return []
    # A quotation mark that is never closed makes one record of the rest of the file.
    return ends if ends and max(b - a for a, b in zip([0, *ends], ends, strict=False)) <= 50 else []
