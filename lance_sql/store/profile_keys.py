"""Keys of the profiles in ~/.aws, which are read again when they change or expire.

Tools for single sign-on rewrite the files of keys, programs named by `credential_process` return keys for a while, and
roles have keys with an end. Open stores take the new keys with their next request.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Final

from lance_sql.errors import InvalidArgument, missing_package
from lance_sql.store.profile_settings import VARIABLE, paths

_SHARE_OF_SLACK: Final = 10
"""Keys are renewed when 1/n of their time is left, where n is this number, at most `_MAX_SLACK`."""

_MAX_SLACK: Final = timedelta(minutes=5)
_NAMED: Final = 8
"""Limit of the profiles that a message lists."""


def profile_keys(config: Mapping[str, Any], profile: str | None = None) -> ProfileKeys | None:
    """Returns the keys of the profile, which the client of S3 does not read itself. None if others are given.

    config: options of the client
    profile: its name; by default that of $AWS_PROFILE, or else "default"
    raises: InvalidArgument if a profile that was named does not exist or has no keys; MissingDependency without boto3
    """
    if "access_key_id" in config or "skip_signature" in config:
        return None
    if profile is None and any(os.environ.get(variable) for variable in ("AWS_ACCESS_KEY_ID", "AWS_SKIP_SIGNATURE")):
        return None
    named = profile or os.environ.get(VARIABLE)
    if not named and not any(path.exists() for path in paths()):
        return None
    try:
        import boto3  # noqa: F401
        import obstore  # noqa: F401
    except ImportError as error:
        if named:
            raise missing_package(f"the profile {named!r} of S3 needs the package boto3", "object-stores") from error
        return None
    keys = ProfileKeys(profile)
    if profile and not keys.are_there:
        raise InvalidArgument(f"{_setting(profile)} has no keys in ~/.aws: log in, or name another profile")
    return keys if keys.are_there else None


class ProfileKeys:
    """Current keys of a profile, as obstore's clients ask for them before each request. Thread-safe.

    profile: its name; None for that of the environment
    config: options of the client, from the profile
    raises: InvalidArgument if it does not exist
    """

    def __init__(self, profile: str | None = None) -> None:
        import boto3
        from botocore.exceptions import BotoCoreError, ProfileNotFound

        self._lock = Lock()
        self._make_session = partial(boto3.Session, profile_name=profile)
        self._states = _file_states()
        try:
            self._session: Any = self._make_session()
            self._credentials: Any = self._session.get_credentials()
        except ProfileNotFound as error:
            raise _unknown(profile) from error
        except BotoCoreError as error:
            raise InvalidArgument(f"{_setting(profile)} cannot be used: {error}: correct it") from error
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


def _setting(profile: str | None) -> str:
    name = profile or os.environ.get(VARIABLE)
    if name is None:
        return "The profile 'default' in ~/.aws"
    return f"storage option profile={name!r}" if profile else f"{VARIABLE}={name!r}"


def _unknown(profile: str | None) -> InvalidArgument:
    import botocore.session

    names = botocore.session.Session().available_profiles
    known = ", ".join(map(repr, names[:_NAMED])) or "none"
    return InvalidArgument(f"{_setting(profile)} is not a profile in ~/.aws, which has {known}: correct the name")


def _file_states() -> tuple[tuple[int, int, int] | None, ...]:
    """Returns what changes when one of the files is rewritten."""
    return tuple(_state(path) for path in paths())


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
