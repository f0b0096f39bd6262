"""Every default of the product, in one place."""

import re
import warnings
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from .errors import ConfigError
from .weights import Weights

Language = Literal["auto", "en", "zh"]


# What ``chunk_chars`` may be called.
CHUNK_PRESETS = {"default": 1_200, "reme": 10_000}


# Names of the systems this one is compatible with -> ours.
_ALIASES = {
    "working_dir": "vault_dir",
    "memory_compact_ratio": "compact_ratio",
    "tool_result_threshold": "old_max_bytes",
}


class ReMeConfig(BaseModel):
    """Settings of a :class:`~agentscope_reme.ReMe`; each is also a keyword argument of it.

    Units: tokens for window and summary sizes, bytes for tool results and reads, seconds for times, days for retention.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    # The vault
    vault_dir: Path = Field(Path(".reme"), description="Folder of the vault; made on the first write.")
    timezone: str | None = Field(None, description="IANA zone of dates in file names; None is the machine's zone.")
    link_resolution: Literal["literal", "obsidian"] = Field("literal", description="How a [[wikilink]] finds its note.")
    read_max_bytes: int = Field(16_384, ge=256, description="Largest page that `read` returns, in bytes.")

    # The window
    language: Language = Field("auto", description="Language of checkpoints and cards; auto follows the user.")
    max_input_length: int = Field(128_000, ge=64, description="The model's context window, in tokens.")
    compact_ratio: float = Field(0.7, gt=0, lt=1, description="Share of the window at which compaction starts.")
    memory_compact_reserve: int = Field(
        10_000, ge=0, description="Tokens of recent messages kept verbatim; at most a quarter of the threshold."
    )
    summary_max_tokens: int = Field(4_000, ge=64, description="Cap of the checkpoint; at most an eighth of the window.")
    media_tokens: int = Field(1_600, ge=1, description="Price of one image, audio or video block, whatever its size.")
    add_thinking_block: bool = Field(True, description="Give thinking blocks to the summariser, as plain text.")
    compaction_timeout: float = Field(60.0, gt=0, description="Wall-clock limit of one compaction, in seconds.")
    breaker_failures: int = Field(3, ge=1, description="Failures in a row that pause the model's checkpoints.")
    breaker_steps: int = Field(10, ge=1, description="Steps after which a paused checkpoint is tried again.")
    breaker_seconds: float = Field(300.0, ge=0, description="Seconds after which a paused checkpoint is tried again.")
    tombstones: int = Field(10_000, ge=0, description="Ids of messages that left the context, remembered per memory.")
    announce_compaction: bool = Field(False, description="Have the agent print one message after each compaction.")
    write_memory_on_compaction: bool = Field(True, description="Write a daily card of what left the context.")

    # Tool results
    recent_tool_results: int = Field(3, ge=0, description="How many of the newest tool results count as recent.")
    recent_max_bytes: int = Field(51_200, ge=256, description="Bound of a recent result; at most a quarter window.")
    old_max_bytes: int = Field(3_000, ge=256, description="Bound of an older tool result, in bytes.")
    retention_days: int | None = Field(None, ge=1, description="Days an offloaded result is kept; None keeps it.")

    # Index and search
    chunk_chars: int = Field(1_200, ge=200, description="Largest chunk, in characters; `reme` means 10 000.")
    embed_toc: bool = Field(True, description="Give each chunk the whole heading path above it.")
    chinese: Literal["bigram", "jieba"] = Field("bigram", description="How Chinese text becomes terms.")
    index_processes: int | None = Field(
        None,
        ge=0,
        description="Processes that read a large new vault or file; None is one a core (at most 4), 0 is none.",
    )
    ranking: Weights = Field(
        Weights.model_validate({}), description="Weights of ranking; `{'date': 0}` switches that of dates off."
    )
    search_wait: float = Field(5.0, ge=0, description="Seconds a search waits for the first scan before it is stale.")
    ignore: tuple[str, ...] = Field((), description="Glob patterns, beside the built-in ones, never indexed or listed.")
    watch: Literal["auto", "poll", "off"] = Field(
        "auto", description="How changes by other programs are noticed once started: by events, by looking, or not."
    )
    watch_quiet: float = Field(0.3, gt=0, le=60, description="Seconds without a change after which changes are read.")
    poll_seconds: float = Field(2.0, gt=0, description="Between two looks at all files, where there are no events.")
    reconcile_seconds: float = Field(60.0, gt=0, description="Between two looks at all files, where there are events.")

    # Recall and recording
    recall_limit: int = Field(8, ge=1, le=20, description="Most passages recalled before a reply.")
    recall_tokens: int = Field(1_500, ge=0, description="Most tokens recalled; at most an eighth of the window.")
    recall_timeout: float = Field(3.0, gt=0, description="Seconds that a reply waits for recall.")
    core_tokens: int = Field(1_000, ge=0, description="Tokens of MEMORY.md given once a session; 0 gives none.")
    record_turns: int = Field(5, ge=1, description="Recorded turns of a session that go into its card together.")
    record_idle: float = Field(
        120.0, gt=0, le=3_600, description="Seconds after the first of them when they go there at the latest."
    )
    read_resources: bool = Field(True, description="Make cards of what is put into resource/, once started.")

    # Vectors
    embedding_batch: int = Field(32, ge=1, description="Most texts in one call of the embedding model.")
    embedding_wait: float = Field(2.0, ge=0, description="Seconds a search waits for vectors, then words alone answer.")
    embedding_precision: Literal["int8", "float32"] = Field("int8", description="Numbers that vectors are kept as.")
    embedding_query_prefix: str = Field("", description="Put before a question for the embedding model.")
    embedding_text_prefix: str = Field("", description="Put before each text for the embedding model.")
    fusion: Literal["sum", "rrf", "reme-0.3", "reme-0.4"] = Field(
        "sum", description="How words and vectors become one score: weighted sum, reciprocal ranks, or a preset."
    )
    vector_weight: float | None = Field(None, ge=0, le=1, description="Share of vectors; None is the fusion's own.")

    # Pipelines
    pipeline_timeout: float = Field(120.0, gt=0, description="Seconds in which the model has to give one plan.")
    dream_at: str | None = Field(None, description="Time of the nightly dream, HH:MM; None: no dream.")
    dream_proposals: int = Field(
        0,
        ge=0,
        le=50,
        description="Lines that a dream may propose in MEMORY.md, between markers; 0: it leaves it alone.",
    )

    # Life
    close_timeout: float = Field(10.0, ge=0, description="Seconds that close() waits for background work.")

    @field_validator("chunk_chars", mode="before")
    @classmethod
    def _named_size(cls, value: Any) -> Any:
        return CHUNK_PRESETS.get(value, value) if isinstance(value, str) else value

    @field_validator("vault_dir", mode="before")
    @classmethod
    def _named_folder(cls, value: Any) -> Any:
        if isinstance(value, str) and not value.strip():
            raise ValueError("it names no folder; write . for the present one")  # an empty variable, most likely
        return value

    @field_validator("dream_at")
    @classmethod
    def _time_of_day(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", value):
            raise ValueError(
                f"{value!r} is no time of day; give HH:MM such as 03:00, and for anything else let the system's own "
                "scheduler (cron, systemd, launchd) call `agentscope-reme auto_dream`"
            )
        return value

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str | None) -> str | None:
        if value is not None:
            from zoneinfo import ZoneInfo

            try:
                ZoneInfo(value)
            except Exception as error:
                raise ValueError(f"{value!r} is not a time zone this machine knows (use an IANA name)") from error
        return value

    @classmethod
    def of(cls, **fields: Any) -> "ReMeConfig":
        """Build a configuration; an unknown or unusable setting raises :class:`ConfigError` naming it."""
        try:
            return cls(**fields)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"]) or "configuration"
            if first["type"] == "extra_forbidden":
                near = get_close_matches(name, cls.model_fields, 1)
                meant = f"; did you mean {near[0]}?" if near else ""
                raise ConfigError(f"{name}: there is no such setting{meant}") from error
            raise ConfigError(f"{name}: {first['msg']}") from error

    @classmethod
    def own_window(cls, max_input_length: Any, compact_ratio: Any) -> tuple[int | None, float | None]:
        """Check what one agent has in place of the configured values, by the same rules; None where it has none.

        Raises:
            ConfigError: One of them cannot be used.
        """
        given = {"max_input_length": max_input_length or None, "compact_ratio": compact_ratio or None}
        checked = cls.of(**{name: value for name, value in given.items() if value is not None})
        return (
            checked.max_input_length if given["max_input_length"] is not None else None,
            checked.compact_ratio if given["compact_ratio"] is not None else None,
        )


# What an open vault and its index were made with.
FIXED_SETTINGS = (
    *("vault_dir", "timezone", "link_resolution", "chunk_chars", "ranking", "embed_toc", "chinese", "ignore"),
    *("watch", "watch_quiet", "poll_seconds", "reconcile_seconds", "fusion", "vector_weight"),
    *(name for name in ReMeConfig.model_fields if name.startswith("embedding_")),
)


def renamed(settings: dict[str, Any]) -> dict[str, Any]:
    """Translate the names of compatible systems, with a warning."""
    out = {}
    for name, value in settings.items():
        if name in _ALIASES:
            warnings.warn(f"{name} is called {_ALIASES[name]} here", DeprecationWarning, stacklevel=3)
        out[_ALIASES.get(name, name)] = value
    return out
