"""Add user tags to many objects and remove them, in the way that the service has: one by one, or with tag patterns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...module_utils._api.errors import Unsupported
from ...module_utils._api.records import Record
from .site import UNDONE, Site

# How many objects one call tags: the call that removes the tags has their uuids in its address.
CHUNK = 100


class Tagger:
    """Tags objects of a type, such as VmInstanceVO or HostVO, ``concurrency`` at the same time."""

    def __init__(self, site: Site, resource_type: str, concurrency: int) -> None:
        self._site, self._type, self._concurrency = site, resource_type, concurrency

    def add(self, wanted: Mapping[str, str]) -> dict[str, str]:
        """Add a tag to each object, by their uuids, and return why calls have failed.

        Read the tags afterwards: a service refuses a tag that the object has, and the outcome of a call may be unknown.
        """
        if not wanted:
            return {}
        (first, *others) = wanted
        (result,) = self._call([self._describe_creation(first, wanted[first])])
        if result["failed"] and result["error"]["code"] == Unsupported.code:
            return self._attach(wanted)
        results = [result, *self._call([self._describe_creation(each, wanted[each]) for each in others])]
        return {each: str(done["msg"]) for each, done in zip(wanted, results, strict=True) if done["failed"]}

    def remove(self, tags: Sequence[tuple[str, str, str | None]]) -> dict[str, str]:
        """Remove tags, and return why some remain, by the uuids of their objects.

        A tag is its uuid, that of its object, and that of the tag pattern from which it was made.
        """
        calls: list[tuple[str, Record]] = []
        concerned: list[list[str]] = []
        attached: dict[str, list[str]] = {}
        for tag, object_uuid, pattern in tags:
            if pattern is None:
                calls.append(("DeleteTag", {"uuid": tag}))
                concerned.append([object_uuid])
            else:
                attached.setdefault(pattern, []).append(object_uuid)
        for pattern, members in attached.items():
            for chunk in _split(members):
                calls.append(("DetachTagFromResources", {"tagUuid": pattern, "resourceUuids": chunk}))
                concerned.append(chunk)
        results = zip(self._call(calls), concerned, strict=True)
        return {
            each: str(result.get("msg", UNDONE))
            for result, members in results
            if not is_done(result)
            for each in members
        }

    def _describe_creation(self, object_uuid: str, text: str) -> tuple[str, Record]:
        return "CreateUserTag", {"resourceType": self._type, "resourceUuid": object_uuid, "tag": text}

    def _attach(self, wanted: Mapping[str, str]) -> dict[str, str]:
        """Attach a tag pattern for each text to all of its objects, and create the patterns that do not exist."""
        reasons: dict[str, str] = {}
        calls: list[tuple[str, Record]] = []
        concerned: list[list[str]] = []
        for text in dict.fromkeys(wanted.values()):
            members = [each for each, its_text in wanted.items() if its_text == text]
            pattern, problem = self._provide_pattern(text)
            if pattern is None:
                reasons |= dict.fromkeys(members, problem)
                continue
            for chunk in _split(members):
                calls.append(("AttachTagToResources", {"tagUuid": pattern, "resourceUuids": chunk}))
                concerned.append(chunk)
        for result, members in zip(self._call(calls), concerned, strict=True):
            # The job succeeds although single objects were refused. The results of those do not name them.
            items = [] if result["failed"] else result["reply"].get("results") or []
            refused = [str(_find_text(item)) for item in items if item.get("error") or item.get("success") is False]
            if result["failed"] or refused:
                reasons |= dict.fromkeys(members, str(result["msg"]) if result["failed"] else join_reasons(refused))
        return reasons

    def _provide_pattern(self, text: str) -> tuple[str | None, str]:
        """Return the uuid of the tag pattern with this value, which is created if necessary, or why there is none."""
        if pattern := self._site.find_tag_pattern(text):
            return pattern, ""
        (made,) = self._call([("CreateTag", {"name": text, "value": text, "type": "simple"})])
        return self._site.find_tag_pattern(text), str(made.get("msg", "")) or "there is no tag pattern"

    def _call(self, calls: Sequence[tuple[str, Record]]) -> list[Record]:
        objects = [{"operation": operation, "params": params} for operation, params in calls]
        return self._site.batch("api", objects, self._concurrency)


def is_done(result: Record) -> bool:
    """Return whether a call was made: one that has changed nothing was not."""
    return bool(result["changed"]) and not result["failed"]


def _split(uuids: Sequence[str]) -> list[list[str]]:
    return [list(uuids[start : start + CHUNK]) for start in range(0, len(uuids), CHUNK)]


def _find_text(item: Record) -> str:
    """Return why an object was refused, from its item of the results of a batch request."""
    error = item.get("error")
    return str((error.get("details") or error.get("code")) if isinstance(error, dict) else error or item)


def join_reasons(reasons: Iterable[str]) -> str:
    """Return the first of different reasons."""
    return "; ".join(list(dict.fromkeys(reasons))[:3])
