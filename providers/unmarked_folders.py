"""Tables in folders whose names do not end in `.lance`, which a statement names in another way."""

from __future__ import annotations

import os
import re
from typing import Final

from lance_sql.values.local_paths import expanded

_UNKNOWN_TABLE: Final = re.compile(r"Table with name (.+?) does not exist!")


def unknown_table(error: Exception) -> str | None:
    """Returns the name of the table that DuckDB did not find; None for another error."""
    found = _UNKNOWN_TABLE.search(str(error))
    return None if found is None else found[1]


def way_to_name(text: str) -> str | None:
    """Returns how to name the folder of a table, if its name does not end in `.lance`; None for other names.

    text: the name in a statement
    """
    path = text.strip("'\"`")
    if not os.path.isdir(os.path.join(expanded(path), "_versions")):
        return None
    return f'{path} is a Lance table whose name does not end in .lance: write lance."{path}"'
