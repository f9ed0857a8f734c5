"""The module that says what a service offers, and why a connection fails."""

from __future__ import annotations

from typing import Any

from .._api.errors import (
    InvalidOptions,
    LoginFailed,
    SeveralFailed,
    TransportError,
    Unsupported,
    VirtinfraError,
)
from .._api.operation import parse_version
from .._api.operations import get_operation
from .._api.records import Record
from .._api.resource_types import RESOURCE_TYPES
from .._client.client import SESSION_OPTIONS, Client, get_without_credentials
from .._client.sessions import COMMON_READ
from .._engine.context import ModuleContext
from .._http.tls_state import read_tls_state
from .spec import ModuleSpec

# A diagnosis shows quickly that a service cannot be reached.
DIAGNOSIS_RETRIES = 1

# Reads that change nothing on any server: the lists of the types that options can name.
PROBES = tuple(sorted({row.query for row in RESOURCE_TYPES.values() if row.query}))


def service_module() -> ModuleSpec:
    """Return the module that describes a service and the connection to it, with each problem and its remedy."""

    def run(context: ModuleContext) -> dict[str, Any]:
        diagnosis = Diagnosis(context.client.with_retries(DIAGNOSIS_RETRIES))
        result = diagnosis.run()
        if diagnosis.problems and context.params["fail_on_problems"]:
            first = next(iter(diagnosis.problems.values()))
            raise SeveralFailed(" ".join(map(str, diagnosis.problems.values())), first.error, **result)
        return result

    return ModuleSpec(run, {"fail_on_problems": {"type": "bool", "default": True}})


class Diagnosis:
    """What reads show about a service and the credentials. ``problems`` are the failures by their subject."""

    def __init__(self, client: Client) -> None:
        self._client, self._connection = client, client.connection
        self._has_answered = False
        self.problems: dict[str, VirtinfraError] = {}

    def run(self) -> dict[str, Any]:
        """Return the result of the module."""
        token_valid = self._check_token()
        credential_valid = self._check_credential()
        offered = self._list_offered() if credential_valid else None
        versions = [get_operation(name).since for name in offered or () if get_operation(name).since]
        return {
            "base_url": self._connection.origin,
            "path_prefix": self._connection.path_prefix,
            "reached": self._has_answered,
            "tls": read_tls_state(self._connection) if self._has_answered else None,
            "credential": self._client.sessions.credential if self._connection.can_query else None,
            "credential_valid": credential_valid,
            "api_token_valid": token_valid,
            "least_version": max(versions, key=parse_version, default=None),
            "offered_operations": offered,
            "missing_operations": None if offered is None else [name for name in PROBES if name not in offered],
            "problems": [{"subject": subject, "msg": str(failure)} for subject, failure in self.problems.items()],
        }

    def _check_token(self) -> bool | None:
        """Return whether the service accepts the token; None without one, and if the service does not answer."""
        if not self._connection.api_token:
            return None
        return self._probe("api_token", "CursorQuery", {"resourceType": "host", "pageSize": 1})

    def _check_credential(self) -> bool | None:
        """Return whether the service accepts the session, account or access key; None if that cannot be checked."""
        if self._connection.can_query:
            return self._probe("credential", COMMON_READ, {"limit": 1})
        if not self._connection.api_token:
            self._reach()
            self.problems["credential"] = InvalidOptions(f"there are no credentials. Give {SESSION_OPTIONS}.")
        return None

    def _probe(self, subject: str, operation: str, params: Record) -> bool | None:
        """Return whether a read succeeds; None if it proves nothing about the credential that it needs."""
        if "connection" in self.problems:
            return None
        try:
            self._client.get(operation, params)
        except TransportError as failure:
            self.problems["connection"] = failure
            return None
        except Unsupported as lack:
            self._has_answered = True
            lacking = "credential" if lack.result["operation"] == "LogInByAccount" else "operation"
            self.problems["path_prefix" if lack.doubts_prefix else lacking] = lack
            return None
        except LoginFailed as failure:
            self._has_answered = failure.is_refusal
            self.problems[subject if failure.is_refusal else "connection"] = failure
            return False if failure.is_refusal else None
        except VirtinfraError as failure:
            self._has_answered = True
            self.problems[subject] = failure
            return False
        self._has_answered = True
        return True

    def _reach(self) -> None:
        """Find out whether there is a service at the path prefix: it refuses a read without credentials."""
        try:
            get_without_credentials(self._client, COMMON_READ, {"limit": 1})
        except TransportError as failure:
            self.problems["connection"] = failure
            return
        except Unsupported as lack:
            self.problems["path_prefix" if lack.doubts_prefix else "operation"] = lack
        except VirtinfraError:
            pass
        self._has_answered = True

    def _list_offered(self) -> list[str]:
        """Return those of the probes that the service offers, also if the account may not use them."""

        def offers(name: str) -> bool:
            try:
                self._client.get(name, {"limit": 1})
            except Unsupported:
                return False
            except VirtinfraError:
                return True
            return True

        found = self._client.map_concurrently(offers, PROBES)
        return [name for name, is_offered in zip(PROBES, found, strict=True) if is_offered]
