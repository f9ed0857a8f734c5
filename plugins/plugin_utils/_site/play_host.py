"""The host of a play that a role maintains or removes, and the other hosts of its cluster."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from ...module_utils._api.errors import InvalidOptions, VirtinfraError
from ...module_utils._api.records import Record
from ...module_utils._api.references import normalize_references, unify_uuid
from ...module_utils._masking.terminal import escape_controls
from .site import Site
from .variables import Play, load_role_options

# The variables of the inventory plugin hosts.
UUID = "virtinfra_uuid"
SERVICE_URL = "virtinfra_service_url"


def require_uuid(role: str, uuid: str | None, failure: str) -> str:
    """Return the uuid of the host from the variable of a role. Raise InvalidOptions if it is empty or a name.

    ``failure`` is the sentence on what did not happen.
    """
    variable = f"{role}_uuid"
    remedy = "Set it to the uuid of the host, or use the inventory plugin virtinfra.manager.hosts."
    if not uuid:
        raise InvalidOptions(f"{failure} {variable} is empty. {remedy}")
    try:
        normalize_references({variable: uuid})
    except InvalidOptions as mistake:
        raise InvalidOptions(f"{failure} {mistake}. {remedy}") from None
    return uuid


def require_own_host(play: Play, role: str, uuid: str, failure: str) -> None:
    """Raise InvalidOptions if the uuid in the variable of a role is that of another host of the inventory.

    ``failure`` is the sentence on what did not happen. A value for all hosts, such as one of ``-e``, is the uuid of at
    most one of them, so all of them fail.
    """
    variable, own = f"{role}_uuid", play.read_host_values(play.host, UUID)
    if own and unify_uuid(own[0]) != unify_uuid(uuid):
        raise InvalidOptions(
            f"{failure} {variable} is {uuid}, and {UUID} of {play.host} is {own[0]}. Remove {variable}, whose default"
            f" is {UUID}, or run the play for the host with the other uuid."
        )
    # Reading the variables of all hosts for each host takes long. The default of the variable differs between hosts.
    if own and not play.read_host_values(play.host, variable):
        return
    others = (host for host in play.list_all() if host != play.host)
    for host in others:
        if unify_uuid(uuid) in map(unify_uuid, play.read_host_values(host, variable, UUID)):
            raise InvalidOptions(
                f"{failure} {variable} is {uuid} for {play.host} and for {host}. Set it for each host, or let the"
                " inventory plugin virtinfra.manager.hosts do so."
            )


def read_host(site: Site, uuid: str) -> Record | None:
    """Return the record of a host with a name for the terminal, None if it does not exist."""
    hosts = site.read("host_info", uuid=uuid)["hosts"]
    return {**hosts[0], "name": escape_controls(hosts[0]["name"])} if hosts else None


def find_host(site: Site, role: str, uuid: str) -> Record | None:
    """Return the record of a host as `read_host` does.

    Raise VirtinfraError if the host does not exist, and the inventory has it from another service than the task, or the
    uuid is that of another object: hosts of other inventory plugins have one, too.
    """
    host, url = read_host(site, uuid), site.play.get_fact(site.play.host, SERVICE_URL)
    if host is None and url not in (None, site.service_url):
        raise VirtinfraError(
            f"{site.play.host} is a host of the service {escape_controls(str(url))}, and the connection of the task is"
            f" {site.service_url}, which has no such host. Give the task the connection of the inventory."
        )
    if host is None and (owner := site.explain_unknown_uuid("host", uuid)):
        raise InvalidOptions(
            f"{site.play.host} is not a host of the service.{owner} Use the inventory plugin virtinfra.manager.hosts,"
            f" or set {role}_uuid to the uuid of a host."
        )
    return host


def read_available(site: Site, role: str, host: Record) -> list[Record]:
    """Return the hosts of the cluster of a host that are enabled and connected, and not in the batch of the play.

    The other hosts of the batch are maintained or removed at the same time, each by the uuid in a variable of the role.
    """
    query = [f"clusterUuid={host['cluster_uuid']}", "state=Enabled", "status=Connected"]
    hosts = site.read("host_info", query=query)["hosts"]
    uuids = map(unify_uuid, site.play.read_batch(f"{role}_uuid", UUID))
    return choose_others(hosts, {host["uuid"], *uuids}, site.play.batch)


def choose_others(hosts: Iterable[Record], uuids: Collection[str], names: Collection[str]) -> list[Record]:
    """Return the hosts that have neither one of the uuids nor one of the names."""
    return [host for host in hosts if host["uuid"] not in uuids and host["name"] not in names]


def find_lack(role: str, available: Sequence[Record], least: int) -> str | None:
    """Return why a cluster cannot spare a host, None if as many others as the role demands are available."""
    if len(available) >= least:
        return None
    names = ", ".join(sorted(escape_controls(host["name"]) for host in available)) or "none"
    return (
        f"{len(available)} other hosts of its cluster are enabled, connected and not in this batch ({names}), and"
        f" {role}_least_available is {least}. Enable other hosts, use smaller batches (serial), or lower"
        f" {role}_least_available."
    )


def name_variables(role: str, message: str) -> str:
    """Return the message of a module that says which option to set, with the variable of the role in its place."""
    known = load_role_options(role)

    def replace(match: re.Match[str]) -> str:
        return f"{role}_{match[0]}" if f"{role}_{match[0]}" in known else match[0]

    return re.sub(r"(?<=[Ss]et )\w+(?=: )", replace, message)
