"""The two cursor operations."""

from __future__ import annotations

from ..errors import RequestRejected, invalid_argument
from ..registry import Call, Reply, operation
from ..state.schema import FIELDS

DEFAULT_PAGE = 100
LARGEST_PAGE = 1000


@operation("CursorQuery", has_envelope=False)
def cursor_query(call: Call) -> Reply:
    """Create a cursor for the current records of a type."""
    if "resourceType" not in call.params:
        raise invalid_argument("field[resourceType] is mandatory, can not be null")
    kind = call["resourceType"].lower()
    if kind not in FIELDS:
        raise invalid_argument(f"resourceType[{call['resourceType']}] is unknown")
    selector = call.service.selector
    records = selector.select(kind, call.get("filter", ()), call.get("sort", ""), call.get("order") == "desc")
    if not call.get("sort"):
        records = selector.unordered(records, 0, len(records))
    return call.service.cursors.first(records, _page_size(call) or DEFAULT_PAGE)


@operation("CursorNext", has_envelope=False)
def cursor_next(call: Call) -> Reply:
    """Return the next page of a cursor."""
    if "cursor" not in call.params:
        raise RequestRejected(400, "missing query parameter 'cursor'")
    return call.service.cursors.next(call["cursor"], _page_size(call))


def _page_size(call: Call) -> int | None:
    size: int | None = call.get("pageSize")
    if size is not None and size < 1:
        raise invalid_argument("pageSize must be at least 1")
    return size and min(size, LARGEST_PAGE)
