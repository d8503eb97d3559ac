"""What each keyword says: one function a keyword, named after it."""

from mlx_structured.json_schema.keywords.table import KEYWORDS, Keyword

__all__ = ["KEYWORDS", "Keyword"]
