"""The scalar types of the wire, each with its bounds. No I/O.

No string of a frame may hold a lone surrogate or NUL. That is not said here again for
each: strict strings refuse the first, and the codec finds the second.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Identifier = Annotated[str, Field(min_length=1, max_length=256)]
"""An id of the page: compared as a string, never trimmed or re-encoded."""

RequestId = Annotated[str, Field(min_length=1, max_length=64)]
CandidateKey = Annotated[str, Field(min_length=1, max_length=1024)]
Label = Annotated[str, Field(max_length=1024)]

# The largest time that a JavaScript Date can hold.
Milliseconds = Annotated[int, Field(ge=0, le=8_640_000_000_000_000)]
SentAt = Annotated[int, Field(ge=1, le=8_640_000_000_000_000)]
Counter = Annotated[int, Field(ge=0, le=9_007_199_254_740_991)]


class Frame(BaseModel):
    """A frame or a part of one: strict, frozen, camelCase, unknown fields ignored."""

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="ignore",
        alias_generator=to_camel,
        serialize_by_alias=True,
    )
