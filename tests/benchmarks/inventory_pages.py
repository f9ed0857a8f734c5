"""A service that caches its pages of hosts and VMs, so that a benchmark measures the client and not the service.

As a program it prints its port and serves until its standard input ends. It builds a page at the first request for it.
"""

from __future__ import annotations

import json
import sys
import time
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from simulator.seed.objects import Seeder
from simulator.seed.vms import VmSeeder
from simulator.switches.options import Seed

HARDWARE = "cpu memory disk nic gpu powerSupply fan raid temperature"
# The hosts of the VMs, which an inventory of VMs reads too.
HOSTS_OF_VMS = 500
# How many clusters and zones there are, whose names an inventory reads.
RELATED = {"clusters": 20, "zones": 2}
SEED = Seed(hosts=HOSTS_OF_VMS, vms=1_000_000)


def host(number: int) -> dict[str, Any]:
    """Return the record of a host, with 31 members; some lack the architecture."""
    hardware = {f"{part}Status": "Normal" for part in HARDWARE.split()}
    record = {
        "uuid": f"{number:032x}",
        "name": f"host-{number}",
        "description": f"rack {number % 40}",
        "zoneUuid": f"{1:032x}",
        "clusterUuid": f"{number % 20:032x}",
        "managementIp": f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}",
        "hypervisorType": "KVM",
        "state": "Disabled" if number % 9 == 0 else "Enabled",
        "status": "Disconnected" if number % 11 == 0 else "Connected",
        "architecture": "aarch64" if number % 5 == 0 else "x86_64",
        "hostname": f"host-{number}.example.com",
        "totalCpuCapacity": 320,
        "availableCpuCapacity": 320 - number % 300,
        "totalMemoryCapacity": 274877906944,
        "availableMemoryCapacity": 274877906944 - number,
        "cpuSockets": 2,
        "cpuNum": 32 + number % 3 * 32,
        "ipmiAddress": f"172.16.{number >> 8 & 255}.{number & 255}",
        "ipmiPort": 623,
        "createDate": f"Jan {1 + number % 28}, 2024 4:52:16 AM",
        "lastOpDate": f"Jan {1 + number % 28}, 2024 5:52:16 AM",
        **hardware,
        "ipmiUsername": "admin",
    }
    if number % 100 == 99:
        del record["architecture"]
    return record


@cache
def vms() -> VmSeeder:
    """Return what builds the records of VMs, each with a NIC, two volumes and a CD-ROM."""
    return VmSeeder(SEED, Seeder(SEED).l3_network(1))


@cache
def network_facts() -> bytes:
    """Return the body of the response to GetHostNetworkFacts: a bond of two NICs, and two other NICs."""
    nics = [
        {
            "uuid": f"{number:032x}",
            "interfaceName": f"eth{number}",
            "interfaceType": "noMaster",
            "mac": f"fa:00:00:00:00:{number:02x}",
            "speed": 10000,
            "slaveActive": True,
            "carrierActive": True,
            "ipAddresses": [f"10.0.{number}.1/24"],
            "pciDeviceAddress": f"0000:01:00.{number}",
        }
        for number in range(4)
    ]
    bond = {
        "uuid": f"{9:032x}",
        "bondingName": "bond0",
        "mode": "802.3ad",
        "xmitHashPolicy": "layer2",
        "slaves": nics[:2],
    }
    return json.dumps({"bondings": [bond], "nics": nics}).encode()


@cache
def page(type_name: str, start: int, size: int, total: int, fields: str) -> bytes:
    """Return the body of the response to a query of hosts, of VMs, or of clusters or zones.

    ``fields`` are the requested ones, separated by commas; empty for all.
    """
    numbers = range(start, min(start + size, total))
    if type_name in RELATED:
        records = [{"uuid": f"{number:032x}", "name": f"{type_name}-{number}"} for number in numbers]
    else:
        records = [host(number) if type_name == "hosts" else vms().vm(number + 1) for number in numbers]
    if fields:
        records = [{name: record[name] for name in fields.split(",") if name in record} for record in records]
    return json.dumps({"inventories": records, "total": total}).encode()


class Handler(BaseHTTPRequestHandler):
    """Answers queries. The path prefix has the number of records, the milliseconds until it responds, and 1 for VMs."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Send a page."""
        parts = urlsplit(self.path)
        prefix, type_name = parts.path.split("/")[1], parts.path.rpartition("/")[2]
        total, delay, of_vms = map(int, prefix.split("-"))
        if of_vms and type_name == "hosts":
            total = HOSTS_OF_VMS
        total = RELATED.get(type_name, total)
        if "/network-facts/" in parts.path:
            body = network_facts()
        else:
            query = parse_qs(parts.query)
            fields = query.get("fields", [""])[0]
            body = page(type_name, int(query["start"][0]), int(query["limit"][0]), total, fields)
        time.sleep(delay / 1000)
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    def log_message(self, *dummy: Any) -> None:
        """Log nothing."""


def main() -> None:
    """Serve."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
