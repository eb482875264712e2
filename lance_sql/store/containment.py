"""Check that links do not lead out of a folder."""

from __future__ import annotations

import os
from itertools import accumulate, islice

from lance_sql.errors import CorruptFile, at


class Containment:
    """Makes sure that files read and written lie below a folder, which may be a link itself.

    root: its absolute path
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._prefix = os.path.join(root, "")
        self._inside: set[str] = set()
        self._inside_by_name: set[str] = set()

    def forget(self) -> None:
        """Clears the cache of checked folders, because one of them may have become a link."""
        self._inside.clear()
        self._inside_by_name.clear()

    def check_file(self, path: str) -> None:
        """Checks the folder of a file once.

        path: from the root
        raises: CorruptFile if a link leads out of the root
        """
        name = path.rpartition("/")[0]
        # looking up a short name is faster than joining a path
        if name not in self._inside_by_name:
            self.check(os.path.dirname(self._prefix + path), path)
            self._inside_by_name.add(name)

    def check(self, folder: str, path: str) -> None:
        """Checks a folder once.

        folder: absolute
        path: of the file, for messages
        raises: CorruptFile if a link leads out of the root
        """
        if folder in self._inside:
            return
        if not self._is_without_links(folder):
            root = os.path.realpath(self._root)
            real = os.path.realpath(folder)
            if real != root and not real.startswith(root.rstrip(os.sep) + os.sep):
                with at(file=path):
                    raise CorruptFile("a link points outside the table's folder")
        self._inside.add(folder)

    def _is_without_links(self, folder: str) -> bool:
        """Whether no part of the path from the root to a folder is a link, so that it is below the root. Resolving both
        paths would check every part of them."""
        # Windows has junctions, which Python does not report as links
        if os.name != "posix" or not os.path.join(folder, "").startswith(self._prefix):
            return False
        parts = [part for part in folder[len(self._prefix) :].split(os.sep) if part]
        folders = accumulate(parts, os.path.join, initial=self._root)
        return os.pardir not in parts and not any(os.path.islink(each) for each in islice(folders, 1, None))
