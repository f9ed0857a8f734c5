"""Choose an operation by method and path, which servers may take for another one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import parse_qs

from .catalogue import (
    CataloguedOperation,
    describe_use,
    find_action,
    find_reference,
    find_uuid_segments,
    list_body_keys,
    list_paths,
)
from .errors import InvalidOptions, suggest_name
from .operation import Operation
from .operations import OPERATIONS, choose_operation
from .references import is_name, unify_uuid
from .resource_types import LISTED_TYPES
from .unlisted import UnlistedOperation, parse_unlisted


def choose_by_path(
    method: str,
    path: str,
    body_key: str | None = None,
    is_trusted: bool = False,
    check_mode: bool = False,
    is_listing: bool = False,
) -> Operation:
    """Return the operation with this method and path, and with this member of the body for its parameters.

    ``is_listing`` says that the module has the option ``query`` in place of ``params``.

    Raise InvalidOptions for a path that is not valid, for an operation that handles sessions, for an action without
    the name of its member, for a request that `check_request` refuses, and for a name in place of a uuid.
    """
    relative = _check_form(path, is_listing)
    operation = parse_unlisted(" ".join(filter(None, (method, relative, body_key))))
    keys = list_body_keys(method, relative) if method == "POST" and not body_key else []
    if len(keys) == 1:
        # The body of few operations has another member, or contains the parameters themselves.
        operation = replace(operation, key=keys[0])
    known = find_action(method, relative, operation.body_key)
    is_known_public = known is not None and known.credential == "none"
    if is_known_public or any(row.credential == "none" and row.path == relative for row in OPERATIONS.values()):
        raise InvalidOptions(f"path must not be {path}, which handles a session. Use virtinfra.manager.session")
    if method == "PUT" and not body_key:
        raise InvalidOptions("PUT needs body_key: the name of the operation, with a small first letter")
    # Check mode believes nobody, because a GET that changes something would be a change by check mode.
    check_request(method, relative, f"{method} {path}", is_trusted and not (check_mode and method == "GET"))
    if not is_trusted:
        _check_spelling(operation)
        _require_uuids(relative, known)
    return _complete(operation, known) if known else operation


def _check_form(path: str, is_listing: bool) -> str:
    """Return a path below the version of the API. Raise InvalidOptions for what belongs into other options."""
    relative = path.strip("/").removeprefix("v1/")
    if any(character.isspace() for character in path):
        raise InvalidOptions(f"path {path!r} must be a path such as v1/volumes/data")
    if placeholder := re.search(r"{(.*?)}|<(.*?)>", relative):
        raise InvalidOptions(f"path has the placeholder {placeholder[0]}. Write the value of the object in its place")
    prefix, separator, rest = path.strip("/").partition("v1/")
    if prefix.endswith("/") and separator:
        if "?" in rest:
            options = _convert_query_string(rest, is_listing)
            raise InvalidOptions(f"path must be without path_prefix and query string. {options}")
        raise InvalidOptions(f"path must be without path_prefix: v1/{rest}, not {path}")
    if "?" in relative:
        raise InvalidOptions(f"path must be without query string. {_convert_query_string(relative, is_listing)}")
    return relative


def _complete(operation: UnlistedOperation, known: CataloguedOperation) -> Operation:
    """Return the operation at a path with what the catalogue knows about it."""
    # For servers, a path with a slash at its end is another one than without it.
    path = operation.path + "/" if known.path.endswith("/") else operation.path
    completed = replace(operation, path=path, is_write=known.is_write, has_job=known.has_job, order=known.order)
    return choose_operation(completed)


def _convert_query_string(path: str, is_listing: bool) -> str:
    """Return a sentence with the options to give in place of the query string of a path."""
    path, dummy, text = path.partition("?")
    given = {name: values if name == "q" else values[0] for name, values in parse_qs(text).items()}
    options = ", ".join(f"{'query' if is_listing and name == 'q' else name}: {given[name]}" for name in given)
    others = f", and {options if is_listing else f'params: {{{options}}}'}" if given else ""
    return f"Give path: v1/{path}{others}"


def _check_spelling(operation: UnlistedOperation) -> None:
    """Raise InvalidOptions for a body_key that differs from those of servers in small and capital letters only.

    Also for one that is the verb of one or several of them.
    """
    keys, given = list_body_keys(operation.method, operation.path), operation.key.casefold()
    meant = [key for key in keys if key.casefold() == given] or [
        key for key in keys if re.match(f"{re.escape(given)}[A-Z]", key)
    ]
    if operation.key not in keys and meant:
        raise InvalidOptions(
            f"body_key must be {' or '.join(meant)}, not {operation.key}. If your service has it, set trust_path"
        )


def suggest_request(method: str, path: str, body_key: str | None) -> str:
    """Return a sentence, and a space before it, with what was probably meant by a request that a service refused.

    It is a path at which servers have an operation with this method, or a member of the body.
    """
    relative = path.strip("/").removeprefix("v1/")
    if keys := list_body_keys(method, relative) if method != "GET" else []:
        hint = suggest_name(body_key or "", keys, is_misspelling=True)
        return hint and f" Did you mean body_key {hint.removeprefix(' Did you mean ')}"
    collection, slash, rest = relative.partition("/")
    meant = f"{_find_collection(collection)}{slash}{rest}"
    return f" Did you mean v1/{meant}?" if meant != relative and describe_use(method, meant).has else ""


def _require_uuids(path: str, known: Operation | None) -> None:
    """Raise InvalidOptions for a segment of a path that is a name, where all servers have a uuid."""
    for segment, variable in find_uuid_segments(path).items():
        if is_name(unify_uuid(segment)):
            takes_name = known and find_reference(known, variable)
            remedy = f" With operation {known.name}, it can be a name." if known and takes_name else ""
            raise InvalidOptions(f"{segment!r} in the path {path} must be a uuid (32 hexadecimal digits).{remedy}")


def check_request(method: str, path: str, label: str, is_trusted: bool) -> None:
    """Raise InvalidOptions for a GET that may change something, and for a method that no server has at a known path.

    ``label`` is the request in messages. With ``is_trusted``, the user says that the service has the operation. That
    permits no GET where all servers that know the path have other operations.
    """
    has, others = describe_use(method, path)
    is_read = method == "GET"
    is_known = (has and not (is_read and others)) or (not others and not is_read)
    if is_known or _is_in_table(method, path, is_literal=bool(others)):
        return
    can_be_trusted = bool(has or not others or not is_read)
    if not (is_trusted and can_be_trusted):
        remedy = " If your service has the operation, set trust_path." if can_be_trusted else ""
        raise InvalidOptions(f"{label} is not sent: {_explain(method, path, has, others)}{remedy}")


def _explain(method: str, path: str, has: tuple[str, ...], others: Mapping[str, str]) -> str:
    """Return why a request may run another operation."""
    effect = "Servers ignore the method of a path with one operation, so it may change something."
    if not others:
        return f"the collection knows no read at this path.{_suggest_path(path) or f' {effect}'}"
    known = " and ".join(f"{server} has {name}" for server, name in others.items())
    wanted = "read" if method == "GET" else method
    contrast = f"only {has[0]} has a {wanted} at this path" if has else f"no server has a {wanted} at this path"
    return f"{contrast}, but {known}. {effect}"


def _suggest_path(path: str) -> str:
    """Return a sentence, and a space before it, with the collection that was probably meant; empty if none is."""
    if collection := _find_collection(path.partition("/")[0]):
        return f" Did you mean v1/{collection}?"
    paths = [f"v1/{known}" for known in list_paths()]
    return suggest_name(f"v1/{path}", paths, is_misspelling=True)


def _find_collection(name: str) -> str:
    """Return the path of the collection that is written in another way, or called by its type; empty if none is."""
    word = _spell_alike(name)
    listed = LISTED_TYPES.get(word) or LISTED_TYPES.get(word.removesuffix("s"))
    if listed:
        return OPERATIONS[listed.query].path
    return next((path for path in list_paths() if _spell_alike(path) in (word, f"{word}s")), "")


def _spell_alike(text: str) -> str:
    return text.replace("-", "").replace("_", "").casefold()


def _is_in_table(method: str, path: str, is_literal: bool) -> bool:
    """Return whether an operation of the table has this method and path; a query also reads one object.

    With ``is_literal``, only an operation without a variable counts: servers take a path for the one with fewer
    variables.
    """
    rows = [row for row in OPERATIONS.values() if row.method == method and row.credential != "token"]
    if is_literal:
        return any(row.path == path for row in rows)
    collection = path.rpartition("/")[0]
    return any((row.get_by_uuid and row.path == collection) or _has_path(row, path) for row in rows)


def _has_path(row: Operation, path: str) -> bool:
    return re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(row.path)), path) is not None
