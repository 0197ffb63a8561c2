"""What the payload of every event of the shop has in common."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Id = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
Caller = Annotated[str, Field(max_length=255, pattern=r"^[ -~]+$")]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]


class Fact(BaseModel):
    """Ids and immutable facts, in exact types. Another member would be another version."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        alias_generator=to_camel,
        populate_by_name=True,
        hide_input_in_errors=True,
    )
