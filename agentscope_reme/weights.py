"""The weights of ranking: a setting that is looked at by config and index alike."""

from pydantic import BaseModel, ConfigDict, Field


class Weights(BaseModel):
    """What counts in ranking besides a unit's own words. Each is bounded; 0 switches it off."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Added to the score
    session: float = Field(0.3, ge=0, le=5, description="The file, or 64 units of a long one, as a whole.")
    pairs: float = Field(0.4, ge=0, le=5, description="Words that follow each other as in the question.")
    phrases: float = Field(1.0, ge=0, le=5, description="Words in quotation marks that follow each other as there.")
    labels: float = Field(3.0, ge=0, le=50, description="Name, title, aliases, headings, tags, description.")
    whole_title: float = Field(48.0, ge=0, le=500, description="A title or alias that stands in the question.")
    anchors: float = Field(4.0, ge=0, le=50, description="The words around links of other notes.")
    # Factors 1 + w
    date: float = Field(2.0, ge=0, le=10, description="The day asked for.")
    speaker: float = Field(0.7, ge=0, le=5, description="The person named speaks.")
    when: float = Field(0.4, ge=0, le=5, description="The question asks for a time and the unit names one.")
    corrects: float = Field(0.2, ge=0, le=5, description="The unit says that it corrects something.")
    memory: float = Field(0.05, ge=0, le=5, description="MEMORY.md and pinned notes.")
    # Factors 1 - w
    superseded: float = Field(0.5, ge=0, le=1, description="Another note supersedes it, or its `valid_to` has passed.")
    repeats: float = Field(0.8, ge=0, le=1, description="It only repeats what stands elsewhere.")
    asks: float = Field(0.8, ge=0, le=1, description="A turn that only asks or greets.")
    # An exponent
    damping: float = Field(0.6, ge=0, le=1, description="How much of the edge is taken off rare words.")
