"""A REST namespace as a catalog, with the client of the package lance-namespace.

Source: specification of Lance namespaces, REST.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from lance_sql.catalogs.contract import BETWEEN, Catalog, Name, TableEntry, new_parts, object_id, parts
from lance_sql.errors import (
    InvalidArgument,
    LanceError,
    MissingDependency,
    TableExists,
    TableNotFound,
    UnsupportedFeature,
)
from lance_sql.store.access import AccessOptions
from lance_sql.table import table_folders
from lance_sql.table.version_names import whole_name

_MOST_PAGES: Final = 10_000

_MOST_EMPTY_PAGES: Final = 100

SECONDS: Final = (10.0, 20.0)
"""Seconds to wait for a connection, and for each part of a response."""

_MOST_SECONDS_TO_RETRY: Final = 30.0
"""Longest wait that a server may ask for."""


class RestCatalog(Catalog):
    """Catalog at an address.

    raises: MissingDependency without the client
    """

    def __init__(
        self, address: str, access: AccessOptions, *, token: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        self.access = access
        try:
            import lance_namespace_urllib3_client as client
        except ImportError as error:
            raise MissingDependency("REST namespaces need their client: pip install lance-namespace") from error
        self._client: Any = client
        self._address = address.rstrip("/")
        api = self._client.ApiClient(self._client.Configuration(host=self._address, retries=_retries(self._address)))
        for name, value in {**({"Authorization": f"Bearer {token}"} if token else {}), **(headers or {})}.items():
            api.set_default_header(name, value)
        self._namespaces: Any = self._client.NamespaceApi(api)
        self._tables: Any = self._client.TableApi(api)

    def namespaces(self, parent: Name = ()) -> list[str]:
        above = parts(parent, what="namespace") if parent else ()
        return self._pages(lambda **given: self._namespaces.list_namespaces(_id(above), **given), "namespaces", above)

    def tables(self, namespace: Name = ()) -> list[str]:
        above = parts(namespace, what="namespace") if namespace else ()
        return self._pages(lambda **given: self._namespaces.list_tables(_id(above), **given), "tables", above)

    def describe(self, name: Name) -> TableEntry:
        wanted = parts(name)
        request = self._client.DescribeTableRequest(id=list(wanted))
        response = self._asked(lambda **limits: self._tables.describe_table(_id(wanted), request, **limits), wanted)
        return self._entry(wanted, response)

    def properties(self, namespace: Name) -> dict[str, str]:
        wanted = parts(namespace, what="namespace")
        request = self._client.DescribeNamespaceRequest(id=list(wanted))
        response = self._asked(
            lambda **limits: self._namespaces.describe_namespace(_id(wanted), request, **limits), wanted
        )
        return dict(response.properties or {})

    def create_namespace(self, namespace: Name, properties: Mapping[str, str] | None = None) -> None:
        wanted = new_parts(namespace, "namespace")
        request = self._client.CreateNamespaceRequest(id=list(wanted), properties=dict(properties or {}), mode="Create")
        self._asked(lambda **limits: self._namespaces.create_namespace(_id(wanted), request, **limits), wanted)

    def drop_namespace(self, namespace: Name) -> None:
        wanted = parts(namespace, what="namespace")
        request = self._client.DropNamespaceRequest(id=list(wanted), mode="Fail", behavior="Restrict")
        self._asked(lambda **limits: self._namespaces.drop_namespace(_id(wanted), request, **limits), wanted)

    def declare(self, name: Name, properties: Mapping[str, str] | None = None) -> TableEntry:
        wanted = new_parts(name)
        request = self._client.DeclareTableRequest(id=list(wanted), properties=dict(properties or {}) or None)
        response = self._asked(lambda **limits: self._tables.declare_table(_id(wanted), request, **limits), wanted)
        return self._entry(wanted, response)

    def _drop(self, name: Name) -> None:
        wanted = parts(name)
        self._asked(lambda **limits: self._tables.drop_table(_id(wanted), **limits), wanted)

    def rename_table(self, name: Name, new_name: Name) -> None:
        wanted, new = parts(name), new_parts(new_name)
        request = self._client.RenameTableRequest(
            id=list(wanted), new_table_name=new[-1], new_namespace_id=list(new[:-1])
        )
        self._asked(lambda **limits: self._tables.rename_table(_id(wanted), request, **limits), wanted)

    def forget(self, name: Name) -> None:
        wanted = parts(name)
        request = self._client.DeregisterTableRequest(id=list(wanted))
        self._asked(lambda **limits: self._tables.deregister_table(_id(wanted), request, **limits), wanted)

    def _entry(self, name: tuple[str, ...], response: Any) -> TableEntry:
        if not response.location:
            raise LanceError(f"{self._address} does not return the location of {'.'.join(name)}")
        if response.storage_options:
            raise UnsupportedFeature(
                f"{self._address} vends credentials for {'.'.join(name)}, which are not supported: open"
                f" {response.location} with storage_options"
            )
        return TableEntry(
            name, whole_name(table_folders.plain_path(response.location)), dict(response.properties or {})
        )

    def _pages(self, ask: Callable[..., Any], what: str, above: tuple[str, ...]) -> list[str]:
        """
        raises: LanceError for a server that returns a page token twice, or many pages without names in a row: the list
            would be short, or have no end
        """
        names: set[str] = set()
        num_empty = 0
        token: str | None = None
        known: set[str] = set()
        for _ in range(_MOST_PAGES):
            page = self._asked(partial(ask, **({} if token is None else {"page_token": token})), above)
            found = getattr(page, what) or ()
            names.update(found)
            num_empty = 0 if found else num_empty + 1
            if not page.page_token:
                return sorted(names)
            if page.page_token in known or num_empty > _MOST_EMPTY_PAGES:
                is_known = page.page_token in known
                why = f"the page token {page.page_token!r} twice" if is_known else f"{num_empty} pages without names"
                raise LanceError(
                    f"{self._address} returned {why}, so that its list of {what} has no end: report it to the operator"
                    " of the namespace"
                )
            token = page.page_token
            known.add(token)
        raise LanceError(f"{self._address} returns an endless list of {what}")

    def _asked(self, ask: Callable[..., Any], name: tuple[str, ...]) -> Any:
        """
        ask: takes the keyword of the client for time limits
        raises: TableNotFound, TableExists, InvalidArgument, UnsupportedFeature by the status; LanceError for others,
            and if there is no response
        """
        from urllib3.exceptions import HTTPError

        called = ".".join(name) or "the top"
        try:
            return ask(_request_timeout=SECONDS)
        except self._client.exceptions.ApiException as error:
            status = int(error.status or 0)
            kind = {
                400: InvalidArgument,
                404: TableNotFound,
                406: UnsupportedFeature,
                409: TableExists,
                501: UnsupportedFeature,
            }
            message = f"{self._address} returned {status} {error.reason} for {called}"
            raise kind.get(status, LanceError)(message) from error
        except HTTPError as error:
            raise LanceError(f"{self._address} does not respond: {type(error).__name__}") from error
        except ValueError as error:
            raise LanceError(f"{self._address} returned an invalid response for {called}") from error


def _id(name: tuple[str, ...]) -> str:
    return object_id(name) if name else BETWEEN


def _retries(address: str) -> Any:
    """Returns the rule by which the client repeats requests: not for long, and not after a silence."""
    from urllib3 import Retry

    class Retries(Retry):
        def get_retry_after(self, response: Any) -> float | None:
            seconds = super().get_retry_after(response)
            if seconds is not None and seconds > _MOST_SECONDS_TO_RETRY:
                raise LanceError(
                    f"{address} returned {response.status}, and asks to wait {seconds:.0f} s: try again then"
                )
            return seconds

    return Retries(3, read=0)
