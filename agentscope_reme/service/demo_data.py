"""What the demo is about: the conversation that ships with the package, and the data its tools return.

The people, the studio and the numbers are invented. Everything here is deterministic: the same on each run and machine.
"""

import json
import math
import random
from dataclasses import dataclass
from importlib.resources import files

SYSTEM_PROMPT = (
    "You are Remy and help Wen plan the move of a pottery studio. Answer in the language of the last message, in a few "
    "sentences. For facts from before, use memory_search and cite the path and lines it gives, as path:12-14."
)
# When the second session takes place.
LATER = "2026-03-20 09:00"


@dataclass(frozen=True, slots=True)
class Turn:
    """What the user says, and when: local time of the story, ``YYYY-MM-DD HH:MM``."""

    time: str
    text: str

    @property
    def date(self) -> str:
        """The day, ``YYYY-MM-DD``."""
        return self.time[:10]


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of the first session and the questions of the second."""

    turns: tuple[Turn, ...]
    questions: tuple[str, ...]


def load_conversation() -> Conversation:
    """Read the conversation that ships with the package."""
    text = files("agentscope_reme.service").joinpath("demo_conversation.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    return Conversation(
        turns=tuple(Turn(line["time"], line["text"]) for line in lines if "text" in line),
        questions=tuple(line["ask"] for line in lines if "ask" in line),
    )


# --- The kiln's log -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Firing:
    date: str
    start: int  # minutes since midnight of ``date``
    minutes: int  # until the top, or until it stops
    top: float  # the highest temperature reached, in °C
    ends_with: tuple[str, ...]


_FIRINGS = {
    27: _Firing(
        "2026-03-08",
        15 * 60 + 29,
        11 * 60 + 18,
        1043.0,
        (
            "ERROR E_TC_OPEN: thermocouple T2 reads open circuit at 1043 °C",
            "ERROR relays R1 R2 R3 opened by the controller, programme 'glaze 1240' stopped before its top",
            "WARN  natural cooling, door locked until below 120 °C",
        ),
    ),
    28: _Firing(
        "2026-03-13",
        11 * 60 + 20,
        5 * 60,
        1061.0,
        (
            "INFO  top reached: 1061 °C, T1 and T2 never differed by 3 °C",
            "INFO  programme 'test, empty' ended without an error",
        ),
    ),
}


def kiln_log(firing: int) -> str:
    """The controller's log of one firing, a line every two minutes."""
    run = _FIRINGS.get(firing)
    if run is None:
        return f"There is no log of firing {firing}. Logs are kept of firings {', '.join(map(str, _FIRINGS))}."
    rng = random.Random(firing)
    lines = [f"# Rohm K-27, controller log of firing {firing}. Times are local, temperatures in °C."]
    for minute in range(0, run.minutes, 2):
        # An exponential approach to a point above the top: steep at first, flat at the end, as kilns heat.
        heat = 20 + (run.top - 20) * (1 - math.exp(-2.2 * minute / run.minutes)) / (1 - math.exp(-2.2))
        t1, t2 = heat + rng.random() * 3 - 1.5, heat + rng.random() * 3 - 1.5
        power = 72 + int(rng.random() * 28)
        lines.append(
            f"{_stamp(run, minute)} INFO  set {heat + 2:7.1f} | T1 {t1:7.1f} | T2 {t2:7.1f} | power {power:3d} % | "
            f"{11.4 * power / 100:5.2f} kW | R1 on R2 on R3 {'on' if power > 85 else 'off'}"
        )
    lines += [f"{_stamp(run, run.minutes + extra)} {text}" for extra, text in enumerate(run.ends_with)]
    for minute in range(run.minutes + 10, run.minutes + 90, 10):
        cooled = 20 + (run.top - 20) * math.exp(-(minute - run.minutes) / 260)
        lines.append(f"{_stamp(run, minute)} INFO  cooling | T1 {cooled:7.1f} | relays off")
    return "\n".join(lines)


def _stamp(run: _Firing, minute: int) -> str:
    total = run.start + minute
    day = int(run.date[-2:]) + total // 1440
    return f"{run.date[:8]}{day:02d} {total // 60 % 24:02d}:{total % 60:02d}"


# --- The inventory ------------------------------------------------------------------------------------------------

# room -> (item, count, kg each)
_STOCK: dict[str, tuple[tuple[str, int, float], ...]] = {
    "glaze": (
        ("glaze G-12, lead bearing, LOCKED RED CUPBOARD", 2, 11.0),
        ("manganese dioxide, powder, sealed tin", 1, 5.0),
        ("cobalt carbonate, powder", 1, 2.5),
        ("silica, powder, sack", 4, 25.0),
        ("kaolin, powder, sack", 3, 25.0),
        ("whiting, powder, sack", 2, 25.0),
        ("potash feldspar, powder, sack", 5, 25.0),
        ("talc, powder, sack", 1, 25.0),
        ("red iron oxide, powder", 2, 5.0),
        ("copper carbonate, powder", 1, 2.0),
        ("respirator P3 with filters", 6, 0.4),
        ("glaze mixer, hand held", 2, 5.8),
        ("precision scale, 6 kg", 1, 3.2),
        ("sieve, 80 mesh", 4, 0.7),
        ("spray booth with turntable", 1, 48.0),
        *(
            (f"glaze bucket, 10 l, recipe G-{number:02d}", 1 + number % 3, 14.5)
            for number in range(1, 41)
            if number != 12
        ),
    ),
    "wheel": (
        *((f"Takai wheel, serial 88{number}41", 1, 46.0) for number in range(1, 10)),
        ("kick wheel, cast iron flywheel", 2, 95.0),
        ("slab roller, 76 cm, with stand", 1, 118.0),
        ("extruder, wall mounted", 1, 17.0),
        ("wheel stool", 11, 3.9),
        ("splash pan, two part", 11, 1.6),
        *((f"bat, {size} cm, plywood", 12, 0.1 + size / 60) for size in (20, 25, 30, 35)),
        *((f"drying rack, frame {letter}", 1, 21.5) for letter in "ABCDEFGH"),
        *((f"ware board, 180 cm, bundle {number}", 8, 3.4) for number in range(1, 9)),
        *((f"tool drawer B{number}, mixed", 1, 6.0 + number / 2) for number in range(1, 13)),
    ),
    "kiln": (
        ("Rohm K-27, empty", 1, 780.0),
        ("test kiln T-8", 1, 62.0),
        ("kiln controller, spare", 1, 2.1),
        *((f"cordierite shelf, 58 x 50 cm, no. {number:02d}", 1, 9.8) for number in range(1, 25)),
        *((f"silicon carbide shelf, 58 x 50 cm, no. {number:02d}", 1, 7.4) for number in range(1, 9)),
        *((f"kiln post, {height} mm", 16, height / 110) for height in (50, 75, 100, 125, 150, 200, 250)),
        ("cone 6, box of 50", 3, 0.5),
        ("cone 08, box of 50", 2, 0.5),
        ("kiln wash, bucket", 1, 12.0),
        ("felt sheets, 60 x 60 cm", 40, 0.2),
    ),
}


def inventory(room: str) -> str:
    """The table of what stands in one room (``glaze``, ``wheel`` or ``kiln``), counted on 8 March, with weights."""
    stock = _STOCK.get(room)
    if stock is None:
        return f"There is no list of {room!r}. Rooms with a list: {', '.join(_STOCK)}."
    rng = random.Random(room)
    lines = [
        f"# Inventory of the {room} room, counted by Amei on 2026-03-08. Weights in kg.",
        "| label | item | count | each | together | packed in | state |",
        "|---|---|---:|---:|---:|---|---|",
    ]
    for number, (item, count, each) in enumerate(stock, 1):
        state = ("good", "good", "good", "worn", "check lid")[int(rng.random() * 5)]
        box = "loose" if each > 40 else f"crate {1 + int(rng.random() * 24):02d}"
        lines.append(
            f"| {room[0].upper()}-{number:03d} | {item} | {count} | {each:.1f} | {count * each:.1f} | {box} | {state} |"
        )
    total = sum(count * each for _, count, each in stock)
    lines.append(
        f"TOTAL of the {room} room: {len(stock)} labels, {sum(c for _, c, _ in stock)} pieces, {total:,.1f} kg"
    )
    return "\n".join(lines)


# --- The offers ---------------------------------------------------------------------------------------------------

# kind -> firm -> (line of the offer, euros or a remark)
_OFFERS: dict[str, dict[str, tuple[tuple[str, int | str], ...]]] = {
    "movers": {
        "Adler": (
            ("truck 7.5 t, one day", 640),
            ("three people, ten hours", 1350),
            ("crates, 60 on loan", 180),
            ("packing of the glaze room", 420),
            ("drive, fuel, tolls", 190),
            ("assembly of racks", 260),
            ("waste disposal", 140),
            ("kiln over 500 kg", "not included, customer carries"),
        ),
        "Brückner": (
            ("truck 12 t with tail lift, one day", 890),
            ("three people, ten hours", 1410),
            ("crates, 60 on loan", 150),
            ("packing of the glaze room", 390),
            ("drive, fuel, tolls", 230),
            ("assembly of racks", 240),
            ("kiln up to 1,000 kg, soft wheels", 640),
            ("waste disposal", "not included"),
        ),
        "Halm": (
            ("truck 7.5 t, one day", 560),
            ("three people, eight hours", 980),
            ("crates, 40 on loan", 90),
            ("packing of the glaze room", 310),
            ("drive, fuel, tolls", 180),
            ("assembly of racks", 200),
            ("kiln, taken apart and rebuilt", 420),
            ("waste disposal", "not included"),
        ),
    },
    "insurance": {
        "Nordstern": (
            ("transport cover up to 25,000", 165),
            ("unfired pieces", 55),
            ("kiln, in one piece", 20),
            ("excess per claim", "250 euros"),
        ),
        "Ostkreis": (
            ("transport cover up to 20,000", 118),
            ("unfired pieces", "left out"),
            ("kiln, in one piece", 34),
            ("excess per claim", "500 euros"),
        ),
        "Hafenkontor": (
            ("transport cover up to 50,000", 248),
            ("unfired pieces", 61),
            ("kiln, in one piece", 25),
            ("excess per claim", "none"),
        ),
    },
}
_CLAUSES = (
    "The offer holds for 14 days from its date; prices include the tax of 19 %.",
    "Days are counted from 07:00; each further half hour and person costs 24 euros.",
    "The customer shows a free place to load within 15 m of the door, on both sides.",
    "Steps higher than 20 cm are to be named before the day, with their number and width.",
    "Open containers of liquids are not carried; lids are taped by the customer.",
    "Claims are to be made in writing within 7 days, with photographs and the crate's label.",
    "A new date is free of charge up to 10 days before; after that a quarter of the sum is due.",
    "Payment half on booking and half on the day; a cancellation within 3 days is charged in full.",
)


def quotes(kind: str) -> str:
    """The offers of one kind (``movers`` or ``insurance``), line by line, with each firm's total and conditions."""
    offers = _OFFERS.get(kind)
    if offers is None:
        return f"There are no offers of kind {kind!r}. Kinds: {', '.join(_OFFERS)}."
    lines = [f"# Offers: {kind}, {len(offers)} firms, as received on or before 2026-03-11. Euros."]
    for firm, items in offers.items():
        lines += ["", f"## {firm}", "| line | euros |", "|---|---:|"]
        lines += [f"| {text} | {price} |" for text, price in items]
        lines += [f"{firm} condition {number}: {clause}" for number, clause in enumerate(_CLAUSES, 1)]
    lines += ["", "## Totals"]
    lines += [f"TOTAL {firm}: {total(kind, firm):,} euros" for firm in offers]
    return "\n".join(lines)


def total(kind: str, firm: str) -> int:
    """The sum of one firm's offer, in euros."""
    return sum(price for _, price in _OFFERS[kind][firm] if isinstance(price, int))
