"""Create, change and remove SNMP platforms, topics, endpoints and persons, and send test traps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils._api.errors import InvalidOptions
from ...module_utils._api.records import Record
from ...module_utils._masking.terminal import escape_controls
from .._site.report import Entry, Outcome, Report
from .._site.settings import NotificationsSettings
from .._site.site import Site
from .._site.wish import Wish

# The module for each kind, in the order in which they need each other. Each returns a record with the name of the kind.
MODULES = {
    "platform": "sns_snmp_platform",
    "topic": "sns_topic",
    "endpoint": "sns_endpoint",
    "person": "sns_teamchat_person",
}

# The kinds that others use, which are removed only with force.
GUARDED = ("platform", "topic")

# The options that select the object of an entry without a uuid, where its module has them.
NAMING = ("name", "user_id", "endpoint")

# How many objects of a kind are changed at the same time.
CONCURRENCY = 20


class Settings(NotificationsSettings):
    """The variables of the role, and what follows from them."""

    def check(self) -> None:
        """Raise InvalidOptions if there is nothing to do, and for entries that would make two objects with a name."""
        if not (self.platforms or self.topics or self.endpoints or self.persons or self.allow_empty):
            raise InvalidOptions(
                "Give notifications_endpoints, notifications_topics, notifications_platforms or notifications_persons,"
                " or set notifications_allow_empty"
            )
        for kind in MODULES if self.state == "present" else ():
            self._check_names(kind)

    def _check_names(self, kind: str) -> None:
        first: dict[tuple[str, ...], str] = {}
        for number, entry in enumerate(self.get_entries(kind)):
            label = f"notifications_{kind}s[{number}]"
            key = tuple(name for name in NAMING if entry.get(name)) if not entry.get("uuid") else ("uuid",)
            values = tuple(str(entry[name]) for name in key)
            if values and first.setdefault(values, label) != label:
                raise InvalidOptions(
                    f"{label} has the same {' and '.join(key)} as {first[values]} ({', '.join(values)}). Remove one of"
                    " them, or correct its name."
                )

    def get_entries(self, kind: str) -> list[Record]:
        """Return the entries of a kind."""
        lists = {
            "platform": self.platforms,
            "topic": self.topics,
            "endpoint": self.endpoints,
            "person": self.persons,
        }
        return lists[kind]


@dataclass
class Notification:
    """An entry of a list: its options, its name in the report, and what becomes of it."""

    kind: str
    name: str
    wanted: Record
    key: str = ""
    uuid: str | None = None
    outcome: Outcome = field(default_factory=Outcome)

    def build_entry(self) -> Entry:
        """Return the entry of the report."""
        members = {
            "kind": self.kind,
            "name": self.name,
            "uuid": self.uuid,
            "outcome": self.outcome.name,
            "error": self.outcome.error,
        }
        return Entry(self.outcome, f"{self.kind} {self.name}", members, self.key)


def run(site: Site, options: Mapping[str, Any]) -> Report:
    """Change or remove the entries of all kinds, send test traps, and return what became of each entry."""
    settings = Settings(**options)
    settings.check()
    done: list[Notification] = []
    # The names of objects that check mode would have created, which nobody can look up.
    predicted: dict[str, set[str | None]] = {}
    for kind in MODULES if settings.state == "present" else reversed(MODULES):
        notifications = list(list_wanted(kind, settings))
        site.ask(build_wish(site, kind, notifications, settings))
        predicted[kind] = _change(site, kind, notifications, predicted, settings)
        done += notifications
    if settings.test and settings.state == "present":
        done += _send_traps(site, [each for each in done if receives_traps(each)])
    return Report("entries", [each.build_entry() for each in done])


def list_wanted(kind: str, settings: Settings) -> Iterator[Notification]:
    """Yield the entries of a kind. The role creates no endpoints of the type any, so it does not remove them."""
    for number, given in enumerate(settings.get_entries(kind)):
        wanted = {name: value for name, value in given.items() if value is not None}
        named = next((str(wanted[key]) for key in ("name", "user_id", "uuid") if wanted.get(key)), "")
        name = named or f"notifications_{kind}s[{number}]"
        if settings.state == "present" or wanted.get("type") != "any":
            yield Notification(kind, name, wanted, f"{kind} {number}")


def build_wish(site: Site, kind: str, notifications: Sequence[Notification], settings: Settings) -> Wish:
    """Return that each entry has its object, which its module has returned then, or none."""
    asked = {each.key: {"kind": kind, "name": each.name} for each in notifications}
    if settings.state == "present":
        return Wish(asked)

    def read() -> dict[str, Record]:
        objects = [build_options(each, {}, settings) for each in notifications]
        common = {"force": True} if kind in GUARDED else {}
        results = site.check(MODULES[kind], objects, CONCURRENCY, **common)
        return {each.key: result for each, result in zip(notifications, results, strict=True)}

    def find_lack(key: str, left: Record | None) -> str | None:
        if left and not left["failed"]:
            return "It is still there. Run the role again." if left["changed"] else None
        return str(left["msg"]) if left else f"{key} was not read again."

    return Wish(asked, read, find_lack)


def _change(
    site: Site,
    kind: str,
    notifications: Sequence[Notification],
    predicted: Mapping[str, set[str | None]],
    settings: Settings,
) -> set[str | None]:
    """Change or remove the entries of a kind, and return the names of those that check mode would create."""
    is_guarded = settings.state == "absent" and kind in GUARDED
    # Check mode has not removed the endpoints before.
    common = {"force": settings.force or site.check_mode} if is_guarded else {}
    objects = [build_options(each, predicted, settings) for each in notifications]
    results = site.batch(MODULES[kind], objects, CONCURRENCY, state=settings.state, **common)
    created: set[str | None] = set()
    for each, result in zip(notifications, results, strict=True):
        found = result.get(kind) or {}
        each.uuid = found.get("uuid") or None
        lost = find_lost(result, settings) if is_guarded and site.check_mode else []
        if lost:
            names = ", ".join(map(escape_controls, lost))
            each.outcome.fail(
                f"It was not removed, because these objects would be lost: {names}. Set notifications_force: true."
            )
        else:
            each.outcome.note({**result, "msg": _name_variable(str(result.get("msg", "")))})
        if site.check_mode and found and not each.uuid:
            created.add(found.get("name"))
        elif settings.state == "present" and not each.uuid:
            each.outcome.fail("The service was not asked for it. Run the role again.")
    return created


def find_lost(result: Mapping[str, Any], settings: Settings) -> list[str]:
    """Return the names of objects that a forced removal would also remove, and that the variables do not name."""
    removed = {each.get("name") for each in settings.endpoints}
    others = () if settings.force else result.get("also_removed", ())
    return [other["name"] for other in others if other["name"] not in removed]


def build_options(each: Notification, predicted: Mapping[str, set[str | None]], settings: Settings) -> Record:
    """Return the options of an entry's module. References to objects that check mode would create are null."""
    if settings.state == "absent":
        return {**each.wanted, "state": "absent"}
    options = dict(each.wanted)
    if "topics" in options:
        options["topics"] = [None if name in predicted.get("topic", ()) else name for name in options["topics"]]
    if options.get("platform") in predicted.get("platform", ()):
        options["platform"] = None
    return options


def _name_variable(message: str) -> str:
    """Return a message about force with the variable of the role."""
    return message.replace("set force: true", "set notifications_force: true")


def receives_traps(each: Notification) -> bool:
    """Return whether an entry is an SNMP receiver that exists."""
    is_receiver = each.kind == "platform" or (each.kind == "endpoint" and each.wanted.get("type") == "snmp")
    return is_receiver and each.uuid is not None


def _send_traps(site: Site, receivers: Iterable[Notification]) -> list[Notification]:
    """Send a test trap to each receiver, and return an entry for each. A test changes nothing."""
    tests = [Notification("test", each.name, {each.kind: each.uuid}, uuid=each.uuid) for each in receivers]
    for test, result in zip(
        tests, site.batch("sns_snmp_test", [test.wanted for test in tests], CONCURRENCY), strict=True
    ):
        test.outcome.note({**result, "changed": False})
    return tests
