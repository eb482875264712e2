"""What columns a table has: fields with stable ids, logical types, and the Arrow types they stand for."""

from lance_sql.format.schema.fields import DictionaryLocation, Field, Schema, build
from lance_sql.format.schema.types import arrow_field, storage_type

__all__ = ["DictionaryLocation", "Field", "Schema", "arrow_field", "build", "storage_type"]
