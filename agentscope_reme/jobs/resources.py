"""Documents in ``resource/`` become cards."""

from typing import TYPE_CHECKING, Annotated

from ..models import Response

if TYPE_CHECKING:
    from ..reme import ReMe


async def auto_resource(
    reme: "ReMe",
    paths: Annotated[list[str] | None, "Documents below `resource/`; without any, all that have changed."] = None,
) -> Response:
    """Bring the cards of documents in `resource/` up to date: one for each that is there, none for one that is gone.

    Text, Markdown, HTML, JSON, YAML and CSV are read, and PDF and Word with the extra `docs`. Cards are marked as
    coming from outside. One document that cannot be read does not stop the others.
    """
    return await reme.auto_resource(paths or None)
