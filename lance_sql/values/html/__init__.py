"""Values as HTML: whole pages in one file, and parts of them for notebooks.

A page needs no network and no other file, follows the reader's color scheme, and works on a phone, with the keyboard
alone and with a screen reader. All content is escaped. A content security policy allows nothing but the page's own
style and script.

render, part     templates/*.html by name, with values
first_rows       the first rows of a stream, for a notebook
charts           positions of bars and areas in inline SVG
"""

from lance_sql.values.html.render import first_rows, part, render

__all__ = ["first_rows", "part", "render"]
