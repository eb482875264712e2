"""Options of batch and streaming reads of changes in PySpark: by Delta's names, by Spark's, and by ours."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from lance_sql.changes.feed import ChangeFeed
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument

from ..bounds import bound
from .options import READ, TIME_TRAVEL, ReadOptions, checked, flag, names_in, number

_RANGE: Final = (
    "startingversion",
    "startingtimestamp",
    "endingversion",
    "endingtimestamp",
    "since",
    "startingboundinclusive",
    "endingboundinclusive",
)
_CHANGES: Final = (
    *_RANGE,
    "mode",
    "deduplicationmode",
    "computeupdates",
    "dropunchanged",
    "key",
    "trustsnapshots",
    "origin",
)
_STREAM: Final = ("maxversionspertrigger", "maxrowspertrigger")
_LATEST: Final = "latest"
_DEDUPLICATION: Final[Mapping[str, dict[str, Any]]] = {
    "none": {"mode": "all"},
    "dropcarryovers": {"mode": "all", "drop_unchanged": True},
    "netchanges": {"mode": "net"},
}


class ChangesOptions(ReadOptions):
    """Options of `spark.read.option` for changes: by Delta's names, by Spark's, and by ours.

    computes_updates: label images of updates as such; otherwise they are a delete and an insert
    raises: InvalidArgument
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        lowered = checked(options, ("readchangefeed", *READ, *_CHANGES))
        for name in TIME_TRAVEL:
            if name in lowered:
                raise InvalidArgument(f"Changes have no option {name!r}: pass endingVersion or endingTimestamp")
        super().__init__({name: value for name, value in options.items() if name.lower() not in _CHANGES})
        self._range = _range(lowered)
        self._how = _how(lowered)
        self.computes_updates = flag("computeUpdates", lowered.get("computeupdates", "true"))
        if self.filter is not None and not self.computes_updates:
            raise InvalidArgument(
                "The option filter names update_preimage or update_postimage: leave it out, or leave"
                " computeUpdates=false out"
            )

    def open_feed(self) -> ChangeFeed:
        """Opens the requested changes.

        raises: as `Dataset.changes`
        """
        return self.open().changes(**self._range, **self._how)

    def open_empty_feed(self) -> ChangeFeed:
        """Opens a feed without changes, with the columns of the requested one.

        raises: as `Dataset.changes`
        """
        dataset = self.open()
        end = self._range["end"]
        return dataset.changes(since=dataset.version if end is None else end, end=end, **self._how)


class StreamOptions(ChangesOptions):
    """Options of `spark.readStream.option`.

    max_versions, max_rows: limits of a batch; None for no limit
    raises: InvalidArgument
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        lowered = {name.lower(): value for name, value in options.items()}
        self._tells = flag("readChangeFeed", lowered.get("readchangefeed", "false"))
        for name in lowered:
            if name.startswith("ending"):
                raise InvalidArgument(f"A stream has no end: leave the option {name!r} out")
            if not self._tells and name in _CHANGES and name not in (*_RANGE, "key"):
                raise InvalidArgument(f"The option {name!r} needs readChangeFeed=true")
        self._from_latest = lowered.get("startingversion", "").lower() == _LATEST
        left_out = (*_STREAM, "startingversion") if self._from_latest else _STREAM
        super().__init__({name: value for name, value in options.items() if name.lower() not in left_out})
        if not self._tells:
            self._how["mode"] = "insert_only"
        self.max_versions = _limit("maxVersionsPerTrigger", lowered)
        self.max_rows = _limit("maxRowsPerTrigger", lowered)

    def open_version(self, version: int) -> Dataset:
        """Opens one version of the table. Its scans always have the same parts, because they ignore indices and learned
        statistics.

        raises: VersionNotFound
        """
        return self.open_at({"version": version, "use_indices": False, "learn_statistics": False})

    def open_range(self, start: int, end: int, dataset: Dataset | None = None) -> ChangeFeed:
        """Opens the changes of some commits.

        dataset: any open version of the table
        raises: as `Dataset.changes`
        """
        return (dataset or self.open()).changes(since=start - 1, end=end, **self._how)

    def first_offset(self, dataset: Dataset) -> int | None:
        """Returns the version after which a new stream begins, or None for one that begins with all rows.

        raises: VersionNotFound for a start that was cleaned up
        """
        if self._from_latest:
            return dataset.version
        if self._range["start"] is None and self._range["since"] is None:
            return None
        return dataset.changes(start=self._range["start"], since=self._range["since"], **self._how).start - 1


def schema_options(options: Mapping[str, str]) -> ReadOptions:
    """Returns the options on which the columns depend, for a batch or a stream: Spark does not pass which it is.

    raises: InvalidArgument
    """
    names = {name.lower(): value for name, value in options.items()}
    checked(options, ("readchangefeed", *READ, *_CHANGES, *_STREAM))
    if not flag("readChangeFeed", names.get("readchangefeed", "false")):
        return ReadOptions(
            {name: value for name, value in options.items() if name.lower() not in (*_CHANGES, *_STREAM)}
        )
    is_latest = names.get("startingversion", "").lower() == _LATEST
    left_out = (*_STREAM, "startingversion") if is_latest else _STREAM
    return ChangesOptions({name: value for name, value in options.items() if name.lower() not in left_out})


def wants_changes(options: Mapping[str, str]) -> bool:
    """Whether to read the changes of a table, instead of a version.

    raises: InvalidArgument for options of changes without readChangeFeed
    """
    names = {name.lower(): value for name, value in options.items()}
    if "readchangefeed" in names:
        return flag("readChangeFeed", names["readchangefeed"])
    for name in _CHANGES:
        if name in names:
            raise InvalidArgument(f"The option {name!r} needs readChangeFeed=true")
    return False


def _limit(name: str, lowered: Mapping[str, str]) -> int | None:
    if name.lower() not in lowered:
        return None
    limit = number(name, lowered[name.lower()])
    if limit < 1:
        raise InvalidArgument(f"The option {name}={limit} must be at least 1")
    return limit


def _range(lowered: Mapping[str, str]) -> dict[str, Any]:
    """Returns the bounds of a range, as arguments of `Dataset.changes`."""
    for one, other in (("startingVersion", "startingTimestamp"), ("endingVersion", "endingTimestamp")):
        if one.lower() in lowered and other.lower() in lowered:
            raise InvalidArgument(f"Pass one of the options {one} and {other}")
    start, end = _bound(lowered, "starting"), _bound(lowered, "ending")
    since = bound(lowered["since"]) if "since" in lowered else None
    if start is not None and since is not None:
        raise InvalidArgument("Pass either startingVersion or startingTimestamp (inclusive), or since (exclusive)")
    if not flag("startingBoundInclusive", lowered.get("startingboundinclusive", "true")):
        if start is None:
            raise InvalidArgument("The option startingBoundInclusive needs startingVersion or startingTimestamp")
        start, since = None, start
    if not flag("endingBoundInclusive", lowered.get("endingboundinclusive", "true")):
        end = _before(end)
    return {"start": start, "end": end, "since": since}


def _bound(lowered: Mapping[str, str], which: str) -> Any:
    """Returns a version, a tag or a time, or None if neither option is given."""
    if f"{which}version" in lowered:
        return bound(lowered[f"{which}version"])
    text = lowered.get(f"{which}timestamp")
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidArgument(
            f"The option {which}Timestamp={text!r} is not a time such as 2026-11-22 09:30:00"
        ) from None


def _before(end: Any) -> Any:
    """Returns the last bound inside a range with an exclusive end."""
    if isinstance(end, datetime):
        return end - datetime.resolution
    if isinstance(end, int) and end > 0:
        return end - 1
    raise InvalidArgument("The option endingBoundInclusive=false needs a number as endingVersion, or endingTimestamp")


def _how(lowered: Mapping[str, str]) -> dict[str, Any]:
    """Returns the other arguments of `Dataset.changes`."""
    if "mode" in lowered and "deduplicationmode" in lowered:
        raise InvalidArgument("Pass one of the options mode and deduplicationMode")
    how: dict[str, Any] = {"mode": lowered.get("mode", "all")}
    if "deduplicationmode" in lowered:
        text = lowered["deduplicationmode"]
        if text.lower() not in _DEDUPLICATION:
            raise InvalidArgument(f"The option deduplicationMode={text!r} is not none, dropCarryovers or netChanges")
        how = dict(_DEDUPLICATION[text.lower()])
    if "dropunchanged" in lowered:
        how["drop_unchanged"] = flag("dropUnchanged", lowered["dropunchanged"])
    if "key" in lowered:
        how["key"] = names_in("key", lowered["key"])
    if "trustsnapshots" in lowered:
        how["trust_snapshots"] = flag("trustSnapshots", lowered["trustsnapshots"])
    if "origin" in lowered:
        how["origin"] = flag("origin", lowered["origin"])
    return how
