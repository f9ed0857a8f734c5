"""Validate options and read them from the command line."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import re
from collections.abc import Callable
from typing import Any, NamedTuple, get_type_hints

from ..registry import OPERATIONS
from .options import OptionInfo, Seed, Switches


class InvalidOption(ValueError):
    """An option is unknown or has an invalid value."""


class Option(NamedTuple):
    """One option."""

    name: str
    default: Any
    info: OptionInfo


@functools.cache
def list_options(options: Callable[[], Any]) -> tuple[Option, ...]:
    """Return the options of a class: the seed, all switches, or a group of them."""
    defaults, hints = dataclasses.asdict(options()), get_type_hints(options, include_extras=True)
    return tuple(Option(name, defaults[name], hints[name].__metadata__[0]) for name in defaults)


def _validate(option: Option, value: Any) -> Any:
    name, default, info = option
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if value.__class__ is not default.__class__:
        raise InvalidOption(f"{name} must be a {default.__class__.__name__}, not {value!r}")
    if info.choices and value not in info.choices:
        raise InvalidOption(f"{name} must be one of {', '.join(info.choices)}, not {value!r}")
    if not re.fullmatch(info.pattern, str(value), re.DOTALL):
        raise InvalidOption(f"{name} is malformed: {value!r}")
    if isinstance(value, (int, float)) and value < info.least:
        raise InvalidOption(f"{name} is too small: {value!r}")
    return value


def expand_literal(options: dict[str, Any]) -> dict[str, Any]:
    """Replace `literal` (true or false) by the switches that it implies; explicit switches take precedence."""
    options = dict(options)
    literal = options.pop("literal", None)
    if literal is None:
        return options
    if not isinstance(literal, bool):
        raise InvalidOption(f"literal must be a bool, not {literal!r}")
    implied = {
        option.name: option.info.literal if literal else option.default
        for option in list_options(Switches)
        if option.info.literal is not None
    }
    return {**implied, **options}


def apply_options(seed: Seed, switches: Switches, options: dict[str, Any]) -> tuple[Seed, Switches]:
    """Return the seed options and the switches with these options replaced; raise InvalidOption if one is invalid."""
    # Most tests reset the service without options.
    if not options:
        return seed, switches
    seed_options = {option.name: option for option in list_options(Seed)}
    switch_options = {option.name: option for option in list_options(Switches)}
    new_seed: dict[str, Any] = {}
    new_switches: dict[str, Any] = {}
    for name, value in expand_literal(options).items():
        if name in seed_options:
            new_seed[name] = _validate(seed_options[name], value)
        elif name in switch_options:
            new_switches[name] = _validate(switch_options[name], value)
        else:
            raise InvalidOption(f"unknown option {name}")
    if "latencies" in new_switches:
        new_switches["latencies"] = {**switches.latencies, **_validate_latencies(new_switches["latencies"])}
    return dataclasses.replace(seed, **new_seed), dataclasses.replace(switches, **new_switches)


def _validate_latencies(latencies: dict[str, Any]) -> dict[str, float]:
    for name, seconds in latencies.items():
        if name not in OPERATIONS:
            raise InvalidOption(f"unknown operation {name}")
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or seconds < 0:
            raise InvalidOption(f"the latency of {name} must be a number of seconds, not {seconds!r}")
    return latencies


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add an argument for every seed option and every switch."""
    parser.add_argument(
        "--literal", action="store_true", default=None, help="behave as the document says, to the letter"
    )
    for group_name, options in (("seed", Seed), ("switches", Switches)):
        group = parser.add_argument_group(group_name)
        for option in list_options(options):
            _add_argument(group, option)


def _add_argument(group: argparse._ArgumentGroup, option: Option) -> None:
    name, default, info = option
    flag = "--" + name.replace("_", "-")
    if name == "latency":
        group.add_argument(flag, action="append", metavar="[OPERATION=]SECONDS", help=info.help)
    elif isinstance(default, bool):
        group.add_argument(flag, action=argparse.BooleanOptionalAction, default=None, help=info.help)
    elif isinstance(default, list):
        group.add_argument(flag, action="append", metavar="VALUE", help=info.help)
    elif not isinstance(default, dict):
        group.add_argument(flag, type=default.__class__, choices=info.choices or None, help=info.help)


def parse_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the command line by name."""
    names = ["literal", *(option.name for options in (Seed, Switches) for option in list_options(options))]
    values = {name: getattr(arguments, name, None) for name in names}
    values = {name: value for name, value in values.items() if value is not None}
    latencies = {}
    for text in values.pop("latency", None) or ():
        operation, separator, seconds = text.rpartition("=")
        try:
            latencies[operation if separator else ""] = float(seconds)
        except ValueError:
            raise InvalidOption(f"latency must be SECONDS or OPERATION=SECONDS, not {text!r}") from None
    if "" in latencies:
        values["latency"] = latencies.pop("")
    if latencies:
        values["latencies"] = latencies
    return values
