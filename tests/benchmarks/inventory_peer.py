"""An inventory plugin for hosts as one would write it in an hour, to compare with.

It reads pages one after the other, sets single variables, and lets core's Constructable evaluate the expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import requests
from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.inventory import BaseInventoryPlugin, Constructable

try:
    from ansible.template import trust_as_template
except ImportError:
    # Before 2.19 every string is a template.
    trust_as_template = str

PREFIX = "virtinfra_"
PAGE_SIZE = 1000

Record = dict[str, Any]


class Peer(BaseInventoryPlugin, Constructable):
    """Reads hosts from a service, with core's means alone."""

    NAME = "peer"

    def get_option(self, option: str, hostvars: Any = None) -> Any:
        """Return an option; core reads only these two."""
        return {"use_extra_vars": False, "leading_separator": True}[option]

    def read(self, url: str) -> Iterator[Record]:
        """Yield the records of the service with this URL, including its path prefix."""
        start, total = 0, 1
        with requests.Session() as session:
            while start < total:
                query = {"start": str(start), "limit": str(PAGE_SIZE), "replyWithCount": "true"}
                reply = session.get(f"{url}/service/v1/hosts", params=query, timeout=60).json()
                yield from reply["inventories"]
                start, total = start + PAGE_SIZE, reply["total"]

    def fill(self, inventory: InventoryData, records: Iterable[Record], options: Mapping[str, Any]) -> None:
        """Add a host for each record."""
        self.parse(inventory, DataLoader(), "peer")
        options = trust_templates(options)
        for record in records:
            name = inventory.add_host(record["name"])
            for field, value in record.items():
                inventory.set_variable(name, PREFIX + convert_to_snake_case(field), value)
            inventory.set_variable(name, "ansible_host", record["managementIp"])
            if options:
                variables = inventory.get_host(name).get_vars()
                self._set_composite_vars(options["compose"], variables, name)
                self._add_host_to_composed_groups(options["groups"], variables, name)
                self._add_host_to_keyed_groups(options["keyed_groups"], variables, name)


def convert_to_snake_case(name: str) -> str:
    """Return the name of a field in the form of a variable."""
    return re.sub("([A-Z])", r"_\1", name).lower()


def trust_templates(value: Any) -> Any:
    """Return options with the trust of a source file: their strings can be templates."""
    if isinstance(value, Mapping):
        return {key: trust_templates(each) for key, each in value.items()}
    if isinstance(value, list):
        return [trust_templates(each) for each in value]
    return trust_as_template(value)
