"""Long-term notes out of daily ones, and the topics that come of it."""

from typing import TYPE_CHECKING, Annotated

from ..models import Response

if TYPE_CHECKING:
    from ..reme import ReMe


async def auto_dream(
    reme: "ReMe",
    date: Annotated[str, "The day, YYYY-MM-DD; without it, today and what no run has read yet."] = "",
    *,
    scan_days: Annotated[int, "How many days up to it are looked at first."] = 2,
    max_units: Annotated[int, "How many things are integrated at most; others wait for the next run."] = 5,
    topic_count: Annotated[int, "How many topics the day gets at most."] = 3,
    topic_diversity_days: Annotated[int, "Topics of that many days before are not repeated."] = 7,
    hint: Annotated[str, "What to look for, in your words."] = "",
) -> Response:
    """Integrate what the daily notes hold into the long-term notes of `digest/`, and write the topics of the day.

    Needs a chat model. Daily notes are never changed; what a run changed is in its log, and `undo_run` takes it back.
    """
    return await reme.auto_dream(date, scan_days, max_units, topic_count, topic_diversity_days, hint)


async def undo_run(
    reme: "ReMe",
    run_id: Annotated[str, "The id that the run gave; without it, the newest run that is not taken back."] = "",
) -> Response:
    """Take a whole run of auto_dream back. Refused when one of its notes has changed since."""
    return await reme.undo_run(run_id)


async def proactive(
    reme: "ReMe",
    date: Annotated[str, "The day, YYYY-MM-DD; without it, today."] = "",
    *,
    include_content: Annotated[bool, "With the text of the file."] = True,
) -> Response:
    """Hand out the topics of a day, from its `interests.yaml`: what an agent could bring up by itself."""
    return await reme.proactive(date, include_content)
