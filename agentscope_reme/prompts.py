"""The prompts of the product, one Markdown file each, in English and Chinese."""

from functools import lru_cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "pipelines" / "prompts"


@lru_cache(maxsize=64)
def load_prompt(name: str, language: str) -> str:
    """Return the prompt ``name`` in ``language`` (``en`` or ``zh``)."""
    return (_FOLDER / language / f"{name}.md").read_text(encoding="utf-8").strip()
