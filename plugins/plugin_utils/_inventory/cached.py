"""The options of an inventory plugin, and its cache in the cache plugin of the user."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.module_utils.common.validation import check_type_bool
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable

from ...module_utils._api.errors import InvalidOptions
from ...module_utils._masking.terminal import escape_controls
from ...module_utils._modules.forms import check_form
from .._run.profiles import Profiles
from .cache import ServiceCache, create_caches
from .items import LISTS, split_text
from .selection import EXPRESSIONS
from .services import LAST_KNOWN, Service


@contextmanager
def make_files_private() -> Iterator[None]:
    """Make files and folders that are created in the meantime accessible to the user only."""
    mask = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(mask)


def render_options(plugin: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a source file with their templates rendered, except for expressions on hosts.

    The options of the profile are added. Raise InvalidOptions for an unknown option, a template that cannot be
    rendered, and a profile that cannot be used.
    """
    known = plugin.option_definitions
    plugin.templar.available_variables = plugin._vars or {}
    rendered = {}
    if unknown := [str(name) for name in options if name not in known]:
        # Most sources are valid, and each command with an inventory would compile the code of hints.
        from ...module_utils._modules.hints import describe_unknown

        record_type = plugin.RESOURCE_TYPE.record
        raise InvalidOptions(describe_unknown(unknown, known, "inventory", record_type, beginning="unknown option"))
    for name, value in options.items():
        if name not in EXPRESSIONS:
            try:
                value = plugin.templar.template(value)
            except AnsibleError as error:
                raise InvalidOptions(f"{name}: {error}") from error
        choices = known[name].get("choices")
        if choices and value is not None and value not in choices:
            from ...module_utils._modules.hints import suggest_value

            hint = suggest_value(name, choices, str(value))
            raise InvalidOptions(
                f"{name} must be one of {', '.join(choices)}, not {value!r}{f'.{hint}' if hint else ''}"
            )
        if known[name].get("type") == "bool" and value is not None:
            _require_boolean(name, value)
        rendered[name] = split_text(name, value) if name in LISTS and isinstance(value, str) else value
        if value is not None:
            check_form(name, known[name], rendered[name])
    return Profiles.from_loader(plugin.loader).complete(rendered, known)


def _require_boolean(name: str, value: Any) -> None:
    """Raise InvalidOptions unless a value means true or false: core would take any other as false."""
    try:
        check_type_bool(value)
    except TypeError:
        raise InvalidOptions(f"{name} must be true or false, not {value!r}") from None


class CachedInventory(BaseInventoryPlugin, Cacheable):
    """An inventory whose records can be cached. If the cache cannot be used, the service is read."""

    # Whether the folder of the cache belongs to another user. Set by set_options.
    has_foreign_cache = False
    # The caches that must have records when their services cannot be read.
    _needed_caches: Sequence[ServiceCache] = ()

    def warn(self, message: str) -> None:
        """Print a warning, which may quote the service."""
        self.display.warning(escape_controls(message))

    def set_options(self, task_keys: Any = None, var_options: Any = None, direct: Any = None) -> None:
        """Set the options of a source file, after rendering their templates."""
        super().set_options(task_keys=task_keys, var_options=var_options, direct=render_options(self, direct or {}))
        if self.get_option("cache") and _belongs_to_another_user(self.get_option("cache_connection")):
            self.warn(
                f"The cache folder {self.get_option('cache_connection')} is that of another user, so it is not used,"
                " and the service is read. Give each user a folder"
            )
            self.has_foreign_cache = True
            self.set_option("cache", False)
        given = [name for name in direct or () if name.startswith("cache_")]
        if given and "cache" not in direct and not self.get_option("cache"):
            self.warn(f"{given[0]} has no effect without cache: true")
        self._timeout = self.get_option("cache_timeout")
        services = [entry for entry in self.get_option("services") or () if isinstance(entry, Mapping)]
        if self.get_option("cache") and not keeps_entries(self):
            self.warn(
                "cache: true has no effect on later runs, because the cache plugin memory keeps nothing. Set"
                " cache_plugin, such as ansible.builtin.jsonfile, and cache_connection"
            )
        if LAST_KNOWN in [self.get_option("on_failure"), *(entry.get("on_failure") for entry in services)]:
            # Cache plugins would not return an entry that has expired.
            self.set_option("cache_timeout", 0)

    def update_cache_if_changed(self) -> None:
        """Write new data to the cache, readable by the user only. Warn if that fails, or if it is not kept."""
        try:
            with make_files_private():
                super().update_cache_if_changed()
        except (AnsibleError, OSError) as error:
            self.warn(f"The cache cannot be written: {error}")
            return
        plugin = getattr(self._cache, "_plugin", None)
        for cache in self._needed_caches:
            if cache.has_lost_records(plugin):
                self.warn(
                    f"{cache.service}: the cache plugin has not kept the records ({cache.size / 1e6:.1f} MB), so"
                    " on_failure: last_known will find none. memcached drops entries above 1 MB. Use another cache"
                    " plugin, such as ansible.builtin.jsonfile"
                )
        # Core makes the files of its cache plugins readable to others regardless of the umask.
        if folder := getattr(plugin, "_cache_dir", None):
            for file in Path(folder).glob(f"*{glob.escape(self.get_cache_key(self._path))}_*"):
                with suppress(OSError):
                    file.chmod(0o600)

    def open_caches(self, services: list[Service]) -> list[ServiceCache | None]:
        """Return the cache of each service, None if there is no cache."""
        if not self.get_option("cache"):
            return [None] * len(services)
        source_key = [self.RESOURCE_TYPE.cursor_type, *self.list_cache_key_options()]
        source_key.append(self.selection.list_cache_key())
        requests = [(service.name, [*source_key, *service.create_cache_key()]) for service in services]
        caches = create_caches(self._cache, self.get_cache_key(self._path), requests, self.warn)
        self._needed_caches = [
            cache for service, cache in zip(services, caches, strict=True) if service.on_failure == LAST_KNOWN
        ]
        return [*caches]


def keeps_entries(plugin: Any) -> bool:
    """Return whether the cache plugin of a source keeps its entries after the run."""
    return str(plugin.get_option("cache_plugin")).rpartition(".")[2] != "memory"


def check_cache(plugin: Any) -> None:
    """Raise InvalidOptions unless the cache of a plugin keeps its entries after the run."""
    if not plugin.has_foreign_cache and not (plugin.get_option("cache") and keeps_entries(plugin)):
        raise InvalidOptions(
            "on_failure: last_known needs cache: true and a cache_plugin that keeps its entries, such as"
            " ansible.builtin.jsonfile with cache_connection"
        )


def suggest_cache_connection(plugin: Any) -> str:
    """Return a sentence if the cache of a plugin has no place, which only some cache plugins need."""
    has_place = not plugin.get_option("cache") or plugin.get_option("cache_connection")
    return "" if has_place else " Set cache_connection, if the cache plugin needs it."


def _belongs_to_another_user(connection: str | None) -> bool:
    """Return whether the place of a cache is a folder whose files this user can neither read nor write."""
    if not connection:
        return False
    folder = Path(os.path.expandvars(connection)).expanduser()
    return folder.is_dir() and not os.access(folder, os.R_OK | os.W_OK | os.X_OK)
