"""The objects of one bucket in this process, and as much of S3 as clients need to read and write them.

Conditional requests are carried out one after the other, so that of several only one creates an object. `objects` may
be read and changed by a test at any time, past every request.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

_XML: Final = [("Content-Type", "application/xml")]
_BYTES: Final = re.compile(r"bytes=(\d*)-(\d*)")


@dataclass(frozen=True, slots=True)
class Object:
    """Content of an object. modified: seconds since 1970."""

    content: bytes
    modified: float = field(default_factory=time.time)

    @property
    def tag(self) -> str:
        return f'"{hashlib.md5(self.content).hexdigest()}"'


@dataclass(slots=True)
class Answer:
    """Answer to a request. A HEAD has its Content-Length among the headers.

    sent: number of bytes of the content that are sent before the connection ends; None for all of them
    """

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    content: bytes = b""
    sent: int | None = None


def error(status: int, code: str, message: str = "by the test") -> Answer:
    """Returns an error as S3 sends it."""
    xml = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{message}</Message></Error>"
    return Answer(status, list(_XML), xml.encode())


class Bucket:
    """A bucket. Its name is the first part of every path.

    denied: keys that no request may delete
    honors: whether `If-None-Match` is looked at
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.objects: dict[str, Object] = {}
        self.denied: re.Pattern[str] | None = None
        self.honors = True
        self._uploads: dict[str, dict[int, bytes]] = {}
        self._numbers = 0
        self._lock = threading.RLock()

    def answer(self, method: str, path: str, headers: Any, body: bytes) -> Answer:
        """Carries out a request."""
        split = urlsplit(path)
        query = dict(parse_qsl(split.query, keep_blank_values=True))
        name, _, key = unquote(split.path).lstrip("/").partition("/")
        if name != self.name:
            return error(404, "NoSuchBucket")
        with self._lock:
            if method == "PUT":
                return self._put(key, query, headers, body)
            if method == "POST":
                return self._post(key, query, headers, body)
            if method == "DELETE":
                return self._delete(key, query)
            if not key and "uploads" in query:
                return _xml(f"<ListMultipartUploadsResult>{self._open_uploads()}</ListMultipartUploadsResult>")
            return self._list(query) if not key else self._get(method, key, headers)

    def _put(self, key: str, query: dict[str, str], headers: Any, body: bytes) -> Answer:
        if "uploadId" in query:
            self._uploads[query["uploadId"]][int(query["partNumber"])] = body
            return Answer(200, [("ETag", Object(body).tag)])
        if self.honors and headers.get("If-None-Match") == "*" and key in self.objects:
            return error(412, "PreconditionFailed")
        source = headers.get("x-amz-copy-source")
        if source:
            found = self.objects.get(unquote(source).lstrip("/").partition("/")[2])
            if found is None:
                return error(404, "NoSuchKey")
            body = found.content
        self.objects[key] = Object(body)
        tag = self.objects[key].tag
        if source:
            return _xml(f"<CopyObjectResult><ETag>{escape(tag)}</ETag></CopyObjectResult>")
        return Answer(200, [("ETag", tag)])

    def _post(self, key: str, query: dict[str, str], headers: Any, body: bytes) -> Answer:
        if "delete" in query:
            keys = [unescape(each) for each in re.findall(r"<Key>(.*?)</Key>", body.decode())]
            return _xml(f"<DeleteResult>{''.join(map(self._deleted, keys))}</DeleteResult>")
        names = f"<Bucket>{self.name}</Bucket><Key>{escape(key)}</Key>"
        if "uploads" in query:
            self._numbers += 1
            id = f"{self._numbers}-{key}"
            self._uploads[id] = {}
            xml = f"{names}<UploadId>{escape(id)}</UploadId>"
            return _xml(f"<InitiateMultipartUploadResult>{xml}</InitiateMultipartUploadResult>")
        parts = self._uploads.get(query["uploadId"])
        if parts is None:
            return error(404, "NoSuchUpload")
        if self.honors and headers.get("If-None-Match") == "*" and key in self.objects:
            return error(412, "PreconditionFailed")
        del self._uploads[query["uploadId"]]
        self.objects[key] = Object(b"".join(parts[number] for number in sorted(parts)))
        xml = f"{names}<ETag>{escape(self.objects[key].tag)}</ETag>"
        return _xml(f"<CompleteMultipartUploadResult>{xml}</CompleteMultipartUploadResult>")

    def _deleted(self, key: str) -> str:
        if self.denied is not None and self.denied.search(key):
            return f"<Error><Key>{escape(key)}</Key><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
        self.objects.pop(key, None)
        return f"<Deleted><Key>{escape(key)}</Key></Deleted>"

    def _delete(self, key: str, query: dict[str, str]) -> Answer:
        if "uploadId" in query:
            self._uploads.pop(query["uploadId"], None)
        elif self.denied is not None and self.denied.search(key):
            return error(403, "AccessDenied", "Access Denied")
        else:
            self.objects.pop(key, None)
        return Answer(204)

    def _get(self, method: str, key: str, headers: Any) -> Answer:
        found = self.objects.get(key)
        if found is None:
            return error(404, "NoSuchKey")
        content, length = found.content, len(found.content)
        said = [("ETag", found.tag), ("Last-Modified", formatdate(found.modified, usegmt=True))]
        if method == "HEAD":
            return Answer(200, [*said, ("Content-Length", str(length))])
        match = _BYTES.match(headers.get("Range") or "")
        if match is None:
            return Answer(200, said, content)
        start = int(match[1]) if match[1] else max(0, length - int(match[2]))
        end = min(int(match[2]), length - 1) if match[1] and match[2] else length - 1
        if start >= length:
            return error(416, "InvalidRange", "Range Not Satisfiable")
        return Answer(206, [*said, ("Content-Range", f"bytes {start}-{end}/{length}")], content[start : end + 1])

    def _open_uploads(self) -> str:
        return "".join(
            f"<Upload><Key>{escape(id.partition('-')[2])}</Key><UploadId>{escape(id)}</UploadId></Upload>"
            for id in self._uploads
        )

    def _list(self, query: dict[str, str]) -> Answer:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        after, most = query.get("continuation-token") or query.get("start-after", ""), int(query.get("max-keys", 1000))
        parts: dict[str, str] = {}
        for key in sorted(self.objects):
            rest = key.removeprefix(prefix)
            if not key.startswith(prefix) or key <= after:
                continue
            if delimiter and delimiter in rest:
                folder = prefix + rest.partition(delimiter)[0] + delimiter
                if not after.startswith(folder):
                    parts[folder] = f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>"
                continue
            found = self.objects[key]
            when = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(found.modified))
            parts[key] = (
                f"<Contents><Key>{escape(key)}</Key><LastModified>{when}</LastModified><ETag>{escape(found.tag)}</ETag>"
                f"<Size>{len(found.content)}</Size></Contents>"
            )
        names = list(parts)[:most]
        more = len(parts) > most
        next_token = f"<NextContinuationToken>{escape(names[-1])}</NextContinuationToken>" if more else ""
        is_cut = f"<IsTruncated>{str(more).lower()}</IsTruncated>"
        head = f"<Name>{self.name}</Name><KeyCount>{len(names)}</KeyCount>{is_cut}"
        xml = "".join(parts[name] for name in names)
        return _xml(f"<ListBucketResult>{head}{next_token}{xml}</ListBucketResult>")


def _xml(text: str) -> Answer:
    return Answer(200, list(_XML), f"<?xml version='1.0' encoding='UTF-8'?>{text}".encode())
