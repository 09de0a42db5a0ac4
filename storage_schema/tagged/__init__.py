"""Tagged JSON: JavaScript's values as JSON, the form of scripts and pictures."""

from storage_schema.tagged.comparing import difference_of
from storage_schema.tagged.reading import Json, Tagged, value_of
from storage_schema.tagged.writing import form_of, text_form

__all__ = ["Json", "Tagged", "difference_of", "form_of", "text_form", "value_of"]
