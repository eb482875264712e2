"""Keys of the profiles in ~/.aws, which are read again when they change or expire.

Tools for single sign-on rewrite the files of keys, programs named by `credential_process` return keys for a while, and
roles have keys with an end. Open stores take the new keys with their next request.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any, Final

_SHARE_OF_SLACK: Final = 10
"""Keys are renewed when 1/n of their time is left, where n is this number, at most `_MAX_SLACK`."""

_MAX_SLACK: Final = timedelta(minutes=5)
_FILES: Final = {"AWS_SHARED_CREDENTIALS_FILE": "credentials", "AWS_CONFIG_FILE": "config"}
"""Variables with the paths of the files, and their names in ~/.aws."""


def profile_keys(config: Mapping[str, Any]) -> ProfileKeys | None:
    """Returns the keys of the profile, which the client of S3 does not read itself. None if others are given.

    config: options of the client
    """
    if "access_key_id" in config or "skip_signature" in config or os.environ.get("AWS_ACCESS_KEY_ID"):
        return None
    if "AWS_PROFILE" not in os.environ and not any(path.exists() for path in _paths()):
        return None
    try:
        import boto3  # noqa: F401
        import obstore  # noqa: F401
    except ImportError:
        return None
    keys = ProfileKeys()
    return keys if keys.are_there else None


class ProfileKeys:
    """Current keys of a profile, as obstore's clients ask for them before each request. Thread-safe.

    config: options of the client, from the profile
    """

    def __init__(self) -> None:
        import boto3

        self._lock = Lock()
        self._make_session = boto3.Session
        self._states = _file_states()
        self._session: Any = self._make_session()
        self._credentials: Any = self._session.get_credentials()
        self._frozen: Any = None
        self._until: datetime | None = None
        region = self._session.region_name
        self.config = {} if region is None else {"region": region}

    @property
    def are_there(self) -> bool:
        """Whether the profile has keys."""
        return self._credentials is not None

    def __call__(self) -> dict[str, Any]:
        """Returns the keys. They count as expired at once, so that the next request asks again; the answer is cached
        here as long as the files stay the same and the keys are valid.

        raises: PermissionError if the profile has none any more
        """
        with self._lock:
            frozen = self._current()
        return {
            "access_key_id": frozen.access_key,
            "secret_access_key": frozen.secret_key,
            "token": frozen.token,
            "expires_at": datetime.now(UTC),
        }

    def _current(self) -> Any:
        states, now = _file_states(), datetime.now(UTC)
        if states != self._states or self._frozen is None or (self._until is not None and now >= self._until):
            self._frozen = None
            if states != self._states:
                self._states, self._credentials = states, None
            self._frozen, self._until = self._renewed(now)
        return self._frozen

    def _renewed(self, now: datetime) -> tuple[Any, datetime | None]:
        """Returns new keys, and the time at which they are to be renewed."""
        # a program or service that failed is asked again by a new session
        for is_new in (self._credentials is None, True):
            try:
                if is_new:
                    self._session = self._make_session()
                    self._credentials = self._session.get_credentials()
                frozen = None if self._credentials is None else self._credentials.get_frozen_credentials()
            except Exception as error:
                if not is_new:
                    continue
                raise PermissionError(f"the keys of the profile in ~/.aws cannot be renewed: {error}") from error
            if frozen is None:
                raise PermissionError("the profile in ~/.aws has no keys any more: log in again")
            end = getattr(self._credentials, "_expiry_time", None)
            if not isinstance(end, datetime):
                return frozen, None
            if end > now or is_new:
                return frozen, end - min(max(end - now, timedelta(0)) / _SHARE_OF_SLACK, _MAX_SLACK)
        raise AssertionError


def _paths() -> list[Path]:
    folder = Path.home() / ".aws"
    return [Path(os.environ.get(variable) or folder / name).expanduser() for variable, name in _FILES.items()]


def _file_states() -> tuple[tuple[int, int, int] | None, ...]:
    """Returns what changes when one of the files is rewritten."""
    return tuple(_state(path) for path in _paths())


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
