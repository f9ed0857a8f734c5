"""The services of L3 networks, each of which a provider has."""

from __future__ import annotations

from ..errors import invalid_argument, not_found, operation_refused
from ..registry import Call, Reply, catalogued


@catalogued("AttachNetworkServiceToL3Network")
def attach_services(call: Call) -> Reply:
    """Give services of providers to an L3 network, which has each of them from one provider."""
    network, wanted = call.store["l3network"].get(call["l3NetworkUuid"]), call["networkServices"]
    if not wanted:
        raise invalid_argument("networkServices cannot be empty")
    services = list(network["networkServices"])
    for uuid, types in wanted.items():
        provider = call.store["networkserviceprovider"].find(uuid)
        if provider is None:
            raise not_found("networkserviceprovider", uuid)
        for each in types:
            if each not in provider["networkServiceTypes"]:
                raise invalid_argument(f"network service provider[uuid:{uuid}] does not provide {each}")
            if any(each == service["networkServiceType"] for service in services):
                raise operation_refused(f"l3Network[uuid:{network['uuid']}] has a network service {each} already")
            members = {"l3NetworkUuid": network["uuid"], "networkServiceProviderUuid": uuid}
            services.append({**members, "networkServiceType": each})
    return {"inventory": call.store.change("l3network", network["uuid"], networkServices=services)}


@catalogued("DetachNetworkServiceFromL3Network")
def detach_services(call: Call) -> Reply:
    """Take services of providers from an L3 network; succeed if it does not have them."""
    network = call.store["l3network"].get(call["l3NetworkUuid"])
    removed = [(uuid, each) for uuid, types in call["networkServices"].items() for each in types]
    services = [
        service
        for service in network["networkServices"]
        if (service["networkServiceProviderUuid"], service["networkServiceType"]) not in removed
    ]
    return {"inventory": call.store.change("l3network", network["uuid"], networkServices=services)}
