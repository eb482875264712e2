"""Errors of obstore's client as those that stores raise, in one line with the reason."""

from __future__ import annotations

import re
from typing import Any, Final

from lance_sql.errors import StoreError, UnsupportedFeature
from lance_sql.store.endpoints import Endpoint
from lance_sql.store.options import ClientSettings

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
# Causes in the client's report of a request that was not sent, and what to do.
_NOT_SENT: Final = (
    (
        re.compile(r"InvalidCertificate"),
        "its certificate is not trusted: name the file of its authority's certificates in AWS_CA_BUNDLE or the storage"
        " option root_certificate",
    ),
    (re.compile(r"InvalidContentType|InvalidMessage"), "it does not speak TLS: write http:// in place of https://"),
    (
        re.compile(r"ConnectionReset|BrokenPipe|IncompleteMessage"),
        "it closed the connection: a server with TLS needs https://",
    ),
    (re.compile(r"ConnectionRefused"), "nothing listens there: check the address, and that the server runs"),
    (re.compile(r'"dns error"'), "the host is unknown: check the address"),
)
_CLOSED: Final = 2
"""Number of the cause that only a request without TLS has. A later attempt has the causes before it as well."""

# Codes of S3 for keys that a server does not know, and for a request signed for another region.
_WRONG_KEYS: Final = re.compile(r"\b(?:InvalidAccessKeyId|SignatureDoesNotMatch)\b")
_WRONG_REGION: Final = re.compile(
    r"\b(?:AuthorizationHeaderMalformed|PermanentRedirect|IllegalLocationConstraintException)\b"
)
_ERROR_OF_ONE: Final = re.compile(r"DeleteObjects request failed for key")
NO_REASON: Final = re.compile(r"\b(?:400 Bad Request|403 Forbidden)\b")
NOT_IMPLEMENTED: Final = re.compile(r"\b501 Not Implemented\b|\bNotImplemented\b")


class OutsideError(StoreError):
    """A range that begins after the end of the object."""


def to_error(obstore: Any, uri: str, error: Exception, settings: ClientSettings) -> Exception:
    """Returns the error to raise for one of the client.

    settings: of the client, which messages name
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
            if settings.credentials is not None
            else "renew them, and open the table again"
        )
        return PermissionError(f"ExpiredToken: the keys for {uri} have expired: {way_out}: {line}")
    is_refused = isinstance(error, (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError))
    if _NO_LOGIN.search(line):
        return PermissionError(
            f"{uri}: no login was found for it: not in storage options, variables such as AWS_ACCESS_KEY_ID or"
            " a profile, and the service that gives one to machines in the cloud, which was asked last, gave none:"
            " give keys, or anon=True for a public bucket"
        )
    if _WRONG_REGION.search(line):
        return StoreError(f"{message}: set the region of the bucket, as AWS_REGION or the storage option region")
    if is_refused or _REFUSED.search(line):
        hint = f": check the keys, which are from {settings.keys_from}" if _WRONG_KEYS.search(line) else ""
        return PermissionError(message + hint)
    return _failure(uri, error, line, settings.endpoint)


def _failure(uri: str, error: Exception, line: str, endpoint: Endpoint | None) -> StoreError:
    """Returns the error of a request that was not answered, or not as it should be."""
    message = f"{uri}: {line}"
    is_answered = "non-2xx status" in line or _ERROR_OF_ONE.search(line) is not None
    cause = None if is_answered else _cause(str(error))
    if cause == _CLOSED and (endpoint is None or not endpoint.is_plain):
        cause = None
    if cause is not None:
        server = "the store" if endpoint is None else str(endpoint)
        message = f"{uri}: {server} cannot be reached: {_NOT_SENT[cause][1]}"
    failure = StoreError(message)
    failure.is_unanswered = not is_answered and (cause is None or cause >= _CLOSED)
    return failure


def _cause(report: str) -> int | None:
    """Returns the number of the cause for which a request was not sent, or None."""
    _, mark, source = report.partition("\n\nDebug source")
    if not mark:
        return None
    return next((number for number, (pattern, _) in enumerate(_NOT_SENT) if pattern.search(source)), None)


def first_line(error: Exception) -> str:
    """Returns the error of a client in one line: the reason, if the server answered in XML or JSON."""
    said = str(error).partition("\n\nDebug source")[0].strip()
    begin, mark, answer = said.partition("<")
    if not mark:
        return " ".join(said.partition("\n")[0].split())[:500]
    matches = (pattern.search(answer) for pattern in (_CODE, _MESSAGE))
    reason = ": ".join(each[1].strip().partition("\n")[0] for each in matches if each is not None)
    return " ".join(f"{begin.strip().rstrip(':')}: {reason or mark + answer.partition(chr(10))[0]}".split())[:500]
