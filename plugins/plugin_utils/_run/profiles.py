"""Profiles: named connections in a file of the user, which only the controller reads."""

from __future__ import annotations

import os
import pwd
import re
import shlex
import stat
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ...module_utils._api.errors import InvalidOptions, suggest_name
from ...module_utils._http.connection import CREDENTIAL_OPTIONS, ConnectionOptions
from ...module_utils._modules.options import CONNECTION
from .commands import read_secret
from .given_options import prefer_given_options

VARIABLE = "VIRTINFRA_PROFILE"

CREDENTIALS = ("api_token", *(name for names in CREDENTIAL_OPTIONS for name in names))

# The credentials that precede an account.
_WITHOUT_PASSWORD = ("session_id", "access_key_id")

# Options of which no value begins with a dollar sign. Passwords may.
_WITHOUT_DOLLAR = ("base_url", "account", "session_id", "api_token", "access_key_id")

# The keys of a profile: all options of the connection, and for each secret a command that prints it.
OPTION_KEYS = tuple(name for name in CONNECTION if name != "profile")
COMMAND_KEYS = {f"{name}_command": name for name in OPTION_KEYS if CONNECTION[name].get("no_log")}

VAULT_HEADER = b"$ANSIBLE_VAULT;"

Decrypt = Callable[[bytes], bytes]


def locate_profiles() -> Path:
    """Return the path of the file with the profiles."""
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(folder if Path(folder).is_absolute() else Path("~/.config").expanduser(), "virtinfra", "profiles.yml")


def drop_replaced(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outer options without those that do not fit to the inner ones.

    A credential replaces all credentials, a client certificate also the key, a proxy also ``use_proxy`` and vice versa.
    """
    replaced: set[str] = set()
    if any(inner.get(name) for name in CREDENTIALS):
        replaced.update(CREDENTIALS)
    if inner.get("client_cert"):
        replaced.add("client_key")
    if inner.get("proxy_url") or "proxy_url" in prefer_given_options({"use_proxy": inner.get("use_proxy")}):
        replaced.update(("proxy_url", "use_proxy"))
    return {name: value for name, value in outer.items() if name not in replaced}


class _Encrypted(str):
    """A text that ansible-vault has encrypted."""


@dataclass(frozen=True)
class Profiles:
    """The profiles of the user, each of which is read once. Make others for another task: the file may change.

    ``decrypt`` decrypts a string of Ansible Vault; None if there are no vault passwords.
    """

    decrypt: Decrypt | None = None
    _known: dict[str, Profile] = field(default_factory=dict)

    @classmethod
    def from_loader(cls, loader: Any) -> Profiles:
        """Return the profiles for a plugin, whose loader knows the vault passwords of the run."""
        return cls(loader._vault.decrypt if loader else None)

    def complete(self, options: Mapping[str, Any], known: Container[str] = CONNECTION) -> dict[str, Any]:
        """Return options with those of their profile, or of the profile of the environment.

        Neither is completed later with values of the environment that do not fit to it. ``known`` are the options of
        the plugin. Raise InvalidOptions if the profile cannot be used.
        """
        name = options.get("profile")
        completed = self.add(options, os.environ.get(VARIABLE) if name is None else name, known)
        return prefer_given_options(completed, known)

    def combine(self, outer: Mapping[str, Any], inner: Mapping[str, Any]) -> dict[str, Any]:
        """Return options of which the inner ones, and those of the profile that they name, take precedence.

        The outer ones are those of their profile already.
        """
        completed = self.add(inner, inner.get("profile"), CONNECTION)
        combined = {**drop_replaced(outer, completed), **completed}
        if any(completed.get(name) for name in CREDENTIALS):
            combined = {**dict.fromkeys(CREDENTIALS, ""), **combined}
        return combined

    def add(self, options: Mapping[str, Any], name: Any, known: Container[str]) -> dict[str, Any]:
        """Return options with those of a profile, if there is a name, that the options do not replace."""
        if not name:
            return dict(options)
        name = str(name)
        if name not in self._known:
            self._known[name] = self._read(name)
        profile = self._known[name]
        given = {option for option, value in options.items() if value is not None}
        needed = drop_replaced(dict.fromkeys(OPTION_KEYS), options).keys() - given
        values = profile.get_values(option for option in OPTION_KEYS if option in needed and option in known)
        # Credentials of the environment may be for another service.
        unused = {*CREDENTIALS} - given if any(option in values for option in CREDENTIALS) else ()
        blanks = {option: "" for option in unused if option in known}
        completed = {**options, **blanks, **values, "profile": name}
        if "account" in values and not any(
            completed.get(option) for option in ("account_password", *_WITHOUT_PASSWORD)
        ):
            raise InvalidOptions(
                f"{profile.label}: account needs account_password or account_password_command there. The environment is"
                " not used for an account of a profile"
            )
        return completed

    def _read(self, name: str) -> Profile:
        """Return a profile of the file. Raise InvalidOptions if the file or the profile cannot be used."""
        path = locate_profiles()
        content = _read_private(path, name)
        if content.startswith(VAULT_HEADER):
            content = self._decrypt(path, content)
        profiles = self._parse(path, content)
        if name not in profiles:
            names = f"It has {', '.join(sorted(profiles))}." if profiles else "It has none."
            raise InvalidOptions(f"{path} has no profile {name}.{suggest_name(name, profiles)} {names}")
        flat = next((key for key in profiles if key in OPTION_KEYS and not isinstance(profiles[key], Mapping)), None)
        if flat is not None:
            raise InvalidOptions(f"{path} has {flat} in place of a profile. Indent it below its profile")
        profile = Profile(f"{path}: profile {name}", self._decrypt_members(path, profiles[name]))
        profile.check()
        return profile

    def _decrypt_members(self, path: Path, value: Any) -> Any:
        """Return a profile with its encrypted values decrypted.

        The values of other profiles may have other passwords.
        """
        if isinstance(value, dict):
            return {key: self._decrypt_members(path, member) for key, member in value.items()}
        return self._decrypt(path, value.encode()).decode() if isinstance(value, _Encrypted) else value

    def _decrypt(self, path: Path, content: bytes) -> bytes:
        if not self.decrypt:
            raise InvalidOptions(f"{path} is encrypted with Ansible Vault, whose passwords event sources do not have")
        try:
            return self.decrypt(content)
        except AnsibleError as error:
            raise InvalidOptions(f"{path} cannot be decrypted: {error}") from None

    def _parse(self, path: Path, content: bytes) -> dict[str, Any]:
        """Return the profiles by name. Messages quote nothing of the file, because each line may be a secret."""

        class Loader(yaml.SafeLoader):
            """Also reads the values that ansible-vault encrypts, and refuses a key that is there twice."""

            def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
                """Return a mapping, of which YAML would keep the last of equal keys."""
                lines: dict[str, int] = {}
                for key, dummy in node.value:
                    if (first := lines.setdefault(str(key.value), key.start_mark.line + 1)) != key.start_mark.line + 1:
                        raise InvalidOptions(
                            f"{path} has a key twice in a mapping, in the lines {first} and {key.start_mark.line + 1}."
                            " Remove one of them"
                        )
                return super().construct_mapping(node, deep)

        Loader.add_constructor("!vault", lambda dummy, node: _Encrypted(node.value))
        try:
            document = yaml.load(content, Loader)
        except (yaml.YAMLError, ValueError) as error:
            mark = getattr(error, "problem_mark", None)
            place = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
            raise InvalidOptions(f"{path} is not valid YAML{place}") from None
        profiles = document.get("profiles") if isinstance(document, dict) and len(document) == 1 else None
        if not isinstance(profiles, dict):
            raise InvalidOptions(f"{path} must contain the key profiles only, and under it a mapping for each name")
        return {str(name): values for name, values in profiles.items()}


@dataclass(frozen=True)
class Profile:
    """The values of a profile as they are in the file. ``label`` names file and profile in messages."""

    label: str
    values: Any

    def check(self) -> None:
        """Raise InvalidOptions for an unknown key or an invalid value. No command is run."""
        if not isinstance(self.values, dict):
            raise InvalidOptions(f"{self.label} must be a mapping of connection options")
        known = (*OPTION_KEYS, *COMMAND_KEYS)
        if unknown := [str(key) for key in self.values if key not in known]:
            # Only failures need hints, and each start of Ansible would compile them.
            from ...module_utils._modules.hints import describe_unknown

            hints = describe_unknown(unknown, known, "connection", beginning="unknown key")
            raise InvalidOptions(f"{self.label}: {hints}")
        for key in self.values:
            if key in COMMAND_KEYS:
                self._split_command(key)
                if self.values.get(COMMAND_KEYS[key]) is not None:
                    raise InvalidOptions(
                        f"{self.label}: {COMMAND_KEYS[key]} and {key} are mutually exclusive. Remove one of them"
                    )
        values = {key: self._convert(key) for key in OPTION_KEYS if self.values.get(key) is not None}
        for pair in CREDENTIAL_OPTIONS:
            if not all(name in values for name in pair):
                # The other option of the pair comes from a command or from the environment.
                values = {name: value for name, value in values.items() if name not in pair}
        try:
            ConnectionOptions(**{"base_url": "https://manager.example.com", **values})
        except InvalidOptions as mistake:
            raise InvalidOptions(f"{self.label}: {mistake}") from None

    def get_values(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the values of these options that the profile has, and run their commands."""
        values = {}
        for name in names:
            key = f"{name}_command"
            if self.values.get(name) is not None:
                values[name] = self._convert(name)
            elif self.values.get(key) is not None:
                values[name] = read_secret(self._split_command(key), f"{self.label}: {key}")
        return values

    def _convert(self, name: str) -> Any:
        """Return the value of an option as Ansible converts it."""
        value, rules = self.values[name], CONNECTION[name]
        if name in _WITHOUT_DOLLAR and re.fullmatch(r"\$(\w+|{\w+})", str(value)):
            raise InvalidOptions(
                f"{self.label}: {name} is the name of a variable, which profiles do not replace. Give the value"
                + (f", or write {name}_command: printenv {str(value).strip('${}')}" if rules.get("no_log") else "")
            )
        if isinstance(value, str) and "{{" in value:
            raise InvalidOptions(f"{self.label}: {name} must not contain {{{{: values of profiles are no templates")
        if rules.get("no_log") and not isinstance(value, str):
            raise InvalidOptions(f"{self.label}: {name} must be a string: put it in quotes")
        details = {rule: rules[rule] for rule in rules if rule not in ("fallback", "default")}
        validation = ArgumentSpecValidator({name: details}).validate({name: value})
        if validation.error_messages:
            from ...module_utils._modules.forms import check_form

            check_form(f"{self.label}: {name}", rules, value, name)
            raise InvalidOptions(f"{self.label}: {name}: {validation.error_messages[0]}")
        return validation.validated_parameters[name]

    def _split_command(self, key: str) -> list[str]:
        """Return a command as a list: a string is split into words as a shell does, but nothing in it is expanded."""
        command = self.values[key]
        if isinstance(command, str) and (part := _find_shell_syntax(command)):
            raise InvalidOptions(
                f"{self.label}: {key} runs without a shell, so {part} has no effect. Write [sh, -c, '...'] with the"
                " command in place of the dots"
            )
        with suppress(ValueError):
            words = shlex.split(command) if isinstance(command, str) else command
            if isinstance(words, list) and words and words[0] and all(isinstance(word, str) for word in words):
                return words
        raise InvalidOptions(f"{self.label}: {key} must be a command: a string or a list of strings")


def _find_shell_syntax(command: str) -> str | None:
    """Return what only a shell understands in a command; nothing in quotes is meant for one."""
    with suppress(ValueError):
        for word in shlex.split(command, posix=False):
            if word in ("|", "||", "&", "&&", ";", ">", ">>", "<"):
                return word
            if found := re.match(r"(?:[\w./=-]*)(\$(?:\w+|{\w+}|\())|(~/)", word):
                return found[1] or found[2]
    return None


def _read_private(path: Path, name: str) -> bytes:
    """Return the content of a file that other users cannot read. Raise InvalidOptions for any other file."""
    try:
        # Opening a named pipe would wait for a process that writes to it.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise InvalidOptions(f"{path} is not a regular file")
            _check_access(path, state)
            return file.read()
    except FileNotFoundError:
        other = path.with_suffix(".yaml")
        if other.exists():
            raise InvalidOptions(f"{path} does not exist, but {other} does. Rename it to {path.name}") from None
        raise InvalidOptions(
            f"profile {name} is given, and {path} does not exist. Create the file, or remove the option profile and"
            f" unset {VARIABLE}"
        ) from None
    except OSError as error:
        raise InvalidOptions(f"{path} cannot be read: {error.strerror}") from None


def _check_access(path: Path, state: os.stat_result) -> None:
    """Raise InvalidOptions, with the command to run, if another user may read or write the file.

    A file of root may be readable by a group, as secrets are that Kubernetes mounts for a container without root.
    """
    file = shlex.quote(str(path))
    if state.st_uid not in (os.geteuid(), 0):
        try:
            owner = pwd.getpwuid(state.st_uid).pw_name
        except KeyError:
            owner = str(state.st_uid)
        raise InvalidOptions(f"{path} belongs to {owner}, who could change it. Run: sudo chown $(id -u) {file}")
    is_mounted = state.st_uid == 0 != os.geteuid()
    if state.st_mode & (0o037 if is_mounted else 0o077):
        mode = stat.S_IMODE(state.st_mode)
        raise InvalidOptions(f"{path} has mode {mode:04o}, so that others can access it. Run: chmod 600 {file}")
