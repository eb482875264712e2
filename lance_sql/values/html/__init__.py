"""Values as HTML: whole pages in one file, and parts of them for notebooks.

A page needs no network and no other file, follows the colours that the reader has chosen, and is readable on a phone,
with the keyboard alone and by a screen reader. Whatever it shows is escaped, and what it may load or run is said in a
policy that its browser keeps: nothing but its own style and script.

render, part     templates/*.html by name, with values
charts           where the bars and areas of inline SVG lie
"""

from lance_sql.values.html.render import part, render

__all__ = ["part", "render"]
