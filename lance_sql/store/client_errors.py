"""Errors of obstore's client as those that stores raise, in one line with the reason."""

from __future__ import annotations

import re
from typing import Any, Final

from lance_sql.errors import StoreError, UnsupportedFeature

# The parts of an XML answer with the reason, and the statuses for a denied access.
_CODE: Final = re.compile(r"<Code>([^<]+)</Code>")
_MESSAGE: Final = re.compile(r"<Message>([^<]+)</Message>")
# Addresses where machines in the cloud request a login.
_NO_LOGIN: Final = re.compile(r"169\.254\.169\.254|metadata\.google\.internal")
# Codes of S3; sentences of Azure and Google.
_EXPIRED: Final = re.compile(
    r"\b(?:ExpiredToken(?:Exception)?|TokenRefreshRequired|InvalidToken)\b|(?:token|signature|sas|credentials).{0,40}\bexpired"
    r"|Signature not valid in the specified time frame|Signed expiry time .* has to be after",
    re.IGNORECASE,
)
# AccessDenied without a status is the refusal of one object of DeleteObjects.
_REFUSED: Final = re.compile(r"\b(?:401 Unauthorized|403 Forbidden|AccessDenied|AllAccessDisabled)\b")
_ERROR_OF_ONE: Final = re.compile(r"DeleteObjects request failed for key")
NO_REASON: Final = re.compile(r"\b(?:400 Bad Request|403 Forbidden)\b")
NOT_IMPLEMENTED: Final = re.compile(r"\b501 Not Implemented\b|\bNotImplemented\b")


class OutsideError(StoreError):
    """A range that begins after the end of the object."""


def to_error(obstore: Any, uri: str, error: Exception, *, renews: bool) -> Exception:
    """Returns the error to raise for one of the client.

    renews: whether the keys of the store are read again
    """
    exceptions = obstore.exceptions
    line = first_line(error)
    message = f"{uri}: {line}"
    if "416" in line and "Range Not Satisfiable" in line:
        return OutsideError(message)
    if "NoSuchBucket" in str(error):
        return StoreError(f"{uri}: no such bucket")
    if "ContainerNotFound" in str(error):
        return StoreError(f"{uri}: no such container")
    if isinstance(error, exceptions.InvalidPathError):
        return UnsupportedFeature(
            f"{uri}: an object there has a name that the client cannot list: rename or remove it: {line}"
        )
    # the part before it has the address, with names of users
    if _EXPIRED.search(line.rpartition("status code:")[2]):
        way_out = (
            "log in again: the profile in ~/.aws is read at each request"
            if renews
            else "renew them, and open the table again"
        )
        return PermissionError(f"ExpiredToken: the keys for {uri} have expired: {way_out}: {line}")
    is_refused = isinstance(error, (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError))
    if _NO_LOGIN.search(line):
        return PermissionError(
            f"{uri}: no login was found for it: not in storage options, variables such as AWS_ACCESS_KEY_ID or"
            " a profile, and the service that gives one to machines in the cloud, which was asked last, gave none"
        )
    if is_refused or _REFUSED.search(line):
        return PermissionError(message)
    failure = StoreError(message)
    failure.is_unanswered = "non-2xx status" not in line and not _ERROR_OF_ONE.search(line)
    return failure


def first_line(error: Exception) -> str:
    """Returns the error of a client in one line: the reason, if the server answered in XML or JSON."""
    said = str(error).partition("\n\nDebug source")[0].strip()
    begin, mark, answer = said.partition("<")
    if not mark:
        return " ".join(said.partition("\n")[0].split())[:500]
    matches = (pattern.search(answer) for pattern in (_CODE, _MESSAGE))
    reason = ": ".join(each[1].strip().partition("\n")[0] for each in matches if each is not None)
    return " ".join(f"{begin.strip().rstrip(':')}: {reason or mark + answer.partition(chr(10))[0]}".split())[:500]
