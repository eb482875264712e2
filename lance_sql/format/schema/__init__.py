"""The columns of a table: fields with stable ids, logical types, and their Arrow types."""

from lance_sql.format.schema.field import DictionaryLocation, Field
from lance_sql.format.schema.fields import Schema, build
from lance_sql.format.schema.types import arrow_field, storage_type

__all__ = ["DictionaryLocation", "Field", "Schema", "arrow_field", "build", "storage_type"]
