"""The notes of a day: its cards, and its page that lists them."""

from typing import TYPE_CHECKING, Annotated

from ..models import NoteChange
from .registry import LONG_TEXT

if TYPE_CHECKING:
    from ..reme import ReMe
    from ..vault import DailyCard

Day = Annotated[str, "The day, YYYY-MM-DD; without it, today."]


async def daily_create(
    reme: "ReMe",
    name: Annotated[str, "What the card is called; its file is named after it."],
    description: Annotated[str, "What it is about, in one sentence."] = "",
    body: Annotated[str, "Its text.", LONG_TEXT] = "",
    *,
    session_id: Annotated[str, "The conversation it is about; one that has a card that day gets it changed."] = "",
    date: Day = "",
) -> NoteChange:
    """Make a card of a day, and list it on the day's page. A name that is taken gets a number."""
    return await reme.vault.daily_create(name, description, body, session_id=session_id, date=date)


async def daily_list(reme: "ReMe", date: Day = "") -> "tuple[DailyCard, ...]":
    """List the cards of a day, with name and description."""
    return await reme.vault.daily_list(date)


async def daily_reindex(reme: "ReMe", date: Day = "") -> NoteChange | None:
    """Make the list of cards on a day's page anew. Text outside its markers stays as it is."""
    return await reme.vault.daily_reindex(date)
