"""The hosts of the seed: hosts, their NICs and bonds."""

from __future__ import annotations

import ipaddress

from ..state import records as record_builders
from ..state.records import NICS_PER_HOST
from ..state.store import Record, seeded_uuid
from ..switches.options import Seed
from .common import cluster_of, dates

FIRST_MANAGEMENT_IP = int(ipaddress.IPv4Address("10.0.0.11"))
RAGGED_NIC = 10**9
"""Number of the extra NIC of host n: RAGGED_NIC + n."""


class HostSeeder:
    """Builds the seeded records of hosts, NICs and bonds by their numbers, from 1."""

    def __init__(self, seed: Seed) -> None:
        self._seed = seed

    def host(self, number: int) -> Record:
        """Return a connected host; those of even number have many null members."""
        is_filled = number % 2 == 1
        return record_builders.build_host(
            {
                "uuid": seeded_uuid("host", number),
                "name": f"host-{number}",
                "description": f"hypervisor {number}" if is_filled else None,
                "zoneUuid": seeded_uuid("zone", 1),
                "clusterUuid": cluster_of(self._seed, number),
                "managementIp": str(ipaddress.IPv4Address(FIRST_MANAGEMENT_IP + number - 1)),
                "hostname": f"host-{number}.example.com",
                "nqn": f"nqn.2014-08.org.nvmexpress:uuid:host-{number}" if is_filled else None,
                "ipmiAddress": f"172.31.{number // 250 % 256}.{number % 250 + 1}" if is_filled else None,
                "ipmiUsername": "admin" if is_filled else None,
                "ipmiPowerStatus": "POWER_ON" if is_filled else None,
                "ipmiPort": 623 if is_filled else None,
                "gpuStatus": "Unknown",
                "temperatureStatus": "Error" if number % 10 == 0 else "Normal",
                "_nics": [
                    seeded_uuid("hostnic", self._nic_number(number, slot)) for slot in range(self._nics_of(number))
                ],
                "_bondings": [seeded_uuid("bonding", number)],
            },
            dates(number),
        )

    def host_nic(self, number: int) -> Record:
        """Return a NIC of a host; each host has four."""
        host, slot = divmod(number - 1, NICS_PER_HOST)
        return self.host_nic_of(host + 1, slot)

    def bonding(self, number: int) -> Record:
        """Return bond0 of host n."""
        slaves = [self.host_nic_of(number, slot) for slot in record_builders.BONDED]
        return record_builders.build_bonding(
            seeded_uuid("host", number), seeded_uuid("bonding", number), slaves, dates(number)
        )

    def _nics_of(self, host: int) -> int:
        return NICS_PER_HOST + (self._seed.ragged_nics and host % 2 == 0)

    def _nic_number(self, host: int, slot: int) -> int:
        return RAGGED_NIC + host if slot >= NICS_PER_HOST else NICS_PER_HOST * (host - 1) + 1 + slot

    def host_nic_of(self, host: int, slot: int) -> Record:
        """Return the NIC in this slot, from 0, of the host with this number."""
        return record_builders.build_host_nic(
            seeded_uuid("host", host),
            seeded_uuid("hostnic", self._nic_number(host, slot)),
            slot,
            seeded_uuid("bonding", host),
            dates(host),
        )
