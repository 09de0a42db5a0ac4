"""The scalar types of the wire, each with its bounds. No I/O.

No string of a frame may hold a lone surrogate or NUL. That is not said here again for
each: strict strings refuse the first, and the codec finds the second.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

# Lengths in characters; the largest time is that of a JavaScript Date.
MAX_IDENTIFIER = 256
MAX_REQUEST_ID = 64
MAX_CANDIDATE_KEY = 1024
MAX_KIND = 64
MAX_MILLISECONDS = 8_640_000_000_000_000

Identifier = Annotated[str, Field(min_length=1, max_length=MAX_IDENTIFIER)]
"""An id of the page: compared as a string, never trimmed or re-encoded."""

RequestId = Annotated[str, Field(min_length=1, max_length=MAX_REQUEST_ID)]
CandidateKey = Annotated[str, Field(min_length=1, max_length=MAX_CANDIDATE_KEY)]
Kind = Annotated[str, Field(min_length=1, max_length=MAX_KIND)]
Trouble = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Label = Annotated[str, Field(max_length=1024)]

Milliseconds = Annotated[int, Field(ge=0, le=MAX_MILLISECONDS)]
SentAt = Annotated[int, Field(ge=1, le=MAX_MILLISECONDS)]
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
