"""Profiles: which options they provide, which files are refused, and commands that print secrets."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import VaultLib, VaultSecret
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import InvalidOptions
from ansible_collections.virtinfra.manager.plugins.module_utils._modules.options import CONNECTION
from ansible_collections.virtinfra.manager.plugins.plugin_utils._batch.batch import run_objects
from ansible_collections.virtinfra.manager.plugins.plugin_utils._eda.source import read_options
from ansible_collections.virtinfra.manager.plugins.plugin_utils._inventory.services import create_services
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run import commands
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.memory import edit_secrets
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.profiles import Profiles, locate_profiles

from simulator.launch import Simulator
from support.module_runner import run_module

SECRET = "s3cret of the profile"
URL = "https://manager.example.com"
ACCOUNT = {"base_url": URL, "account": "admin", "account_password": SECRET}
TOKEN = {"base_url": URL, "api_token": "t0ken"}


class ProfilesFile:
    """The file with the profiles of a user."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "virtinfra" / "profiles.yml"
        self.path.parent.mkdir()

    def write_text(self, text: str) -> None:
        """Replace the content of the file."""
        self.path.write_text(text, encoding="utf-8")
        self.path.chmod(0o600)

    def write(self, **profiles: Any) -> None:
        """Replace all profiles."""
        self.write_text(yaml.safe_dump({"profiles": profiles}))

    def refusal(self, **options: Any) -> str:
        """Return the message about a profile that cannot be used, without the path of the file."""
        with pytest.raises(InvalidOptions) as caught:
            Profiles().complete({"profile": "prod", **options})
        assert str(self.path) in str(caught.value)
        assert SECRET not in str(caught.value)
        return str(caught.value).replace(str(self.path), "FILE")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProfilesFile:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return ProfilesFile(tmp_path)


def complete(profile: str = "prod", **options: Any) -> dict[str, Any]:
    """Return options with those of a profile, except for its name."""
    completed = Profiles().complete({"profile": profile, **options})
    assert completed.pop("profile") == profile
    return completed


# ------------------------------------------------------------------------------------------------------- precedence


NO_KEY = {"access_key_id": "", "access_key_secret": ""}
NO_ACCOUNT = {"account": "", "account_password": ""}


def test_option_precedes_profile_and_profile_precedes_environment(
    file: ProfilesFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of the table in the guide."""
    file.write(prod={"base_url": URL, "session_id": "s", "request_retries": 3, "validate_certs": False})
    monkeypatch.setenv("VIRTINFRA_BASE_URL", "https://environment.example.com")
    monkeypatch.setenv("VIRTINFRA_REQUEST_TIMEOUT", "7")
    monkeypatch.setenv("VIRTINFRA_VALIDATE_CERTS", "true")
    params = read_options(CONNECTION, {"profile": "prod", "request_retries": 1})
    chosen = {name: params[name] for name in ("request_retries", "base_url", "validate_certs", "request_timeout")}
    assert chosen == {"request_retries": 1, "base_url": URL, "validate_certs": False, "request_timeout": 7.0}
    assert params["path_prefix"] == "service"


def test_profile_of_the_environment(file: ProfilesFile, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write(prod=TOKEN, test={"base_url": "https://test.example.com"})
    monkeypatch.setenv("VIRTINFRA_PROFILE", "prod")
    assert Profiles().complete({})["base_url"] == URL
    assert Profiles().complete({"profile": None})["base_url"] == URL
    assert Profiles().complete({"profile": "test"})["base_url"] == "https://test.example.com"
    assert Profiles().complete({"profile": ""}) == {"profile": ""}


@pytest.mark.parametrize(
    ("profile", "given", "expected"),
    [
        (ACCOUNT, {}, {**ACCOUNT, **NO_KEY, "session_id": "", "api_token": ""}),
        (TOKEN, {}, {**TOKEN, **NO_KEY, **NO_ACCOUNT, "session_id": ""}),
        (TOKEN, {"account": "a", "account_password": "p"}, {**NO_KEY, "session_id": "", "base_url": URL}),
        (ACCOUNT, {"session_id": "s"}, {**NO_KEY, **NO_ACCOUNT, "base_url": URL}),
        (ACCOUNT, {"api_token": "t"}, {"base_url": URL}),
        (ACCOUNT, {"account": "other"}, {**NO_KEY, "session_id": "", "base_url": URL}),
        (ACCOUNT, {"session_id": "", "api_token": None}, {**ACCOUNT, **NO_KEY, "api_token": ""}),
    ],
)
def test_given_credential_replaces_all_of_the_profile(
    file: ProfilesFile, profile: dict[str, Any], given: dict[str, Any], expected: dict[str, Any]
) -> None:
    file.write(prod=profile)
    assert complete(**given) == {**given, **expected}


@pytest.mark.parametrize(
    ("profile", "given", "expected"),
    [
        ({"proxy_url": "http://p:1"}, {"use_proxy": False}, {"proxy_url": ""}),
        ({"proxy_url": "http://p:1"}, {"use_proxy": True}, {"proxy_url": "http://p:1"}),
        ({"proxy_url": "http://p:1"}, {"proxy_url": ""}, {}),
        ({"use_proxy": False}, {"proxy_url": "http://q:1"}, {"use_proxy": True}),
        ({"use_proxy": False}, {}, {"use_proxy": False, "proxy_url": ""}),
        ({"client_cert": "/c", "client_key": "/k"}, {"client_cert": "/d"}, {}),
        ({"client_cert": "/c", "client_key": "/k"}, {"client_key": "/l"}, {"client_cert": "/c"}),
    ],
)
def test_given_option_replaces_what_does_not_fit_to_it(
    file: ProfilesFile, profile: dict[str, Any], given: dict[str, Any], expected: dict[str, Any]
) -> None:
    file.write(prod=profile)
    assert complete(**given) == {**given, **expected}


def test_plugin_gets_only_the_options_that_it_knows(file: ProfilesFile) -> None:
    file.write(prod={**ACCOUNT, "session_id_command": "false"})
    known = ("profile", "base_url", "account", "account_password")
    assert Profiles().complete({"profile": "prod"}, known) == {**ACCOUNT, "profile": "prod"}


def test_entries_of_services_have_profiles_of_their_own(file: ProfilesFile) -> None:
    site_url = "https://site.example.com"
    file.write(prod={**ACCOUNT, "request_retries": 2}, site={"base_url": site_url, "use_proxy": False})
    source = Profiles().complete({"profile": "prod", "proxy_url": "http://p:1"})
    entries = [
        {"name": "outer"},
        {"profile": "site"},
        {"profile": "prod", "base_url": "https://c.example.com", "api_token": "t"},
    ]
    outer, site, other = [service.connection for service in create_services(source, entries, 10, Profiles())]
    assert (outer.origin, outer.account, outer.proxy_url, outer.request_retries) == (URL, "admin", "http://p:1", 2)
    assert (site.origin, site.account, site.use_proxy) == (site_url, "admin", False)
    assert not site.proxy_url
    assert (other.origin, other.account, other.api_token) == ("https://c.example.com", "", "t")
    with pytest.raises(InvalidOptions, match=r"^services\[0\]: .* has no profile sit\. Did you mean site\?"):
        create_services(source, [{"profile": "sit"}], 10, Profiles())


def test_an_account_of_a_profile_needs_a_password_there(file: ProfilesFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTINFRA_ACCOUNT_PASSWORD", SECRET)
    file.write(prod={"base_url": URL, "account": "admin"})
    assert file.refusal() == (
        "FILE: profile prod: account needs account_password or account_password_command there. The environment is not"
        " used for an account of a profile"
    )
    with pytest.raises(InvalidOptions, match=r"^services\[0\]: account needs account_password$"):
        create_services({"base_url": URL}, [{"account": "admin"}], 10, Profiles())


# --------------------------------------------------------------------------------------------------------- the file


def test_location_without_a_folder_for_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in ("", "relative/folder"):
        monkeypatch.setenv("XDG_CONFIG_HOME", folder)
        assert locate_profiles() == tmp_path / ".config" / "virtinfra" / "profiles.yml"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666, 0o601])
def test_file_that_others_can_access(file: ProfilesFile, mode: int) -> None:
    file.write(prod=ACCOUNT)
    file.path.chmod(mode)
    assert file.refusal() == f"FILE has mode {mode:04o}, so that others can access it. Run: chmod 600 FILE"
    file.path.chmod(0o400)
    assert complete()["account"] == "admin"


@pytest.mark.parametrize(
    ("user", "owner", "mode", "refused"),
    [
        *((1000, 0, mode, False) for mode in (0o640, 0o440, 0o400)),
        *((1000, 0, mode, True) for mode in (0o644, 0o660, 0o444)),
        (1000, 1000, 0o640, True),
        (0, 0, 0o640, True),
    ],
)
def test_mounted_secret_of_root_may_be_readable_by_a_group(
    file: ProfilesFile, monkeypatch: pytest.MonkeyPatch, user: int, owner: int, mode: int, refused: bool
) -> None:
    """Kubernetes mounts secrets for a container whose user is not root with the group of the pod."""
    file.write(prod=ACCOUNT)
    file.path.chmod(mode)
    real = os.fstat
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(
        os, "fstat", lambda descriptor: os.stat_result((*real(descriptor)[:4], owner, *real(descriptor)[5:10]))
    )
    if refused:
        assert "so that others can access it" in file.refusal()
    else:
        assert complete()["account"] == "admin"


def test_named_pipe_is_refused(file: ProfilesFile) -> None:
    os.mkfifo(file.path, 0o600)
    assert file.refusal() == "FILE is not a regular file"


@pytest.mark.parametrize(
    ("user", "owner", "refused"), [(1000, 1000, False), (1000, 0, False), (1000, 1001, True), (0, 1000, True)]
)
def test_owner_of_the_file(
    file: ProfilesFile, monkeypatch: pytest.MonkeyPatch, user: int, owner: int, refused: bool
) -> None:
    file.write(prod=ACCOUNT)
    real = os.fstat
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(
        os, "fstat", lambda descriptor: os.stat_result((*real(descriptor)[:4], owner, *real(descriptor)[5:10]))
    )
    if refused:
        assert file.refusal().endswith("who could change it. Run: sudo chown $(id -u) FILE")
    else:
        assert complete()["account"] == "admin"


def test_file_that_does_not_exist(file: ProfilesFile) -> None:
    assert file.refusal() == (
        "profile prod is given, and FILE does not exist. Create the file, or remove the option profile and unset"
        " VIRTINFRA_PROFILE"
    )
    file.path.mkdir()
    assert file.refusal() == "FILE cannot be read: Is a directory"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must contain the key profiles only, and under it a mapping for each name"),
        ("[]", "must contain the key profiles only, and under it a mapping for each name"),
        ("profiles:", "must contain the key profiles only, and under it a mapping for each name"),
        ("prod: {}", "must contain the key profiles only, and under it a mapping for each name"),
        ("profiles: {}\nclouds: {}", "must contain the key profiles only, and under it a mapping for each name"),
        (f"profiles:\n  prod:\n    session_id: '{SECRET}", "is not valid YAML in line 3, column 39"),
        (f"profiles:\n  prod:\n    session_id: *{SECRET}", "is not valid YAML in line 3, column 17"),
        ("profiles: 2024-99-99", "is not valid YAML"),
        (
            "profiles:\n  prod:\n  account: admin",
            "has account in place of a profile. Indent it below its profile",
        ),
        ("profiles: !!python/object/apply:os.getcwd []", "is not valid YAML in line 1, column 11"),
    ],
)
def test_content_that_cannot_be_used(file: ProfilesFile, text: str, message: str) -> None:
    """The message quotes nothing of the file."""
    file.write_text(text)
    assert file.refusal() == f"FILE {message}"


def test_unknown_profile(file: ProfilesFile) -> None:
    file.write(production=TOKEN, staging=TOKEN)
    assert file.refusal(profile="prodution") == (
        "FILE has no profile prodution. Did you mean production? It has production, staging."
    )
    file.write_text("profiles: {}")
    assert file.refusal() == "FILE has no profile prod. It has none."


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], " must be a mapping of connection options"),
        ({"base_ulr": URL}, ": unknown key base_ulr. Did you mean base_url?"),
        ({"user": "admin"}, ": unknown key user. Did you mean account?"),
        ({"url": URL}, ": unknown key url. Did you mean base_url?"),
        (
            {"url": URL, "user": "admin"},
            ": unknown key url. Did you mean base_url? Unknown key user. Did you mean account?",
        ),
        (
            {"username": "admin", "login": "admin"},
            ": unknown key login or username. Did you mean account?",
        ),
        (
            {"ssh_user": "root"},
            ": unknown key ssh_user. It has the login of the service, account and account_password.",
        ),
        ({"token_command": "x"}, ": unknown key token_command. Did you mean api_token_command?"),
        ({"password_cmd": "x"}, ": unknown key password_cmd. Did you mean account_password_command?"),
        ({"wait_timeout": 3, "query": []}, ": unknown key query or wait_timeout. Options of tasks belong in the task"),
        ({"cluster": "a"}, ": unknown key cluster. The options are base_url, path_prefix, session_id, account, "),
        ({"profile": "other"}, ": unknown key profile. A profile refers to no other one."),
        ({"base_url_command": "x"}, ": unknown key base_url_command. The options are base_url, "),
        ({"account_password": 83}, ": account_password must be a string: put it in quotes"),
        ({"api_token": [SECRET]}, ": api_token must be a string: put it in quotes"),
        ({"request_retries": "many"}, ": request_retries must be a whole number"),
        ({"request_timeout": "1m"}, ": request_timeout must be a number of seconds"),
        ({"session_id": "$SESSION"}, ": session_id is the name of a variable, which profiles do not replace. Give the"),
        ({"session_id": "${SESSION}"}, ": session_id is the name of a variable"),
        ({"session_id": "OAuth abc"}, ": session_id must be printable ASCII without spaces. Give it without the word"),
        ({"api_token": "Bearer a"}, ": api_token must be printable ASCII without spaces. Give it without the word Bea"),
        ({"base_url": "https://a, https://b"}, ": base_url contains the addresses of several services."),
        ({"account_password_command": "pass $ENTRY"}, ": account_password_command runs without a shell, so $ENTRY has"),
        (
            {"account_password_command": "cat ~/.secret"},
            ": account_password_command runs without a shell, so ~/ has no",
        ),
        ({"account_password_command": "pass a | head -1"}, ": account_password_command runs without a shell, so | has"),
        ({"request_timeout": 0}, ": request_timeout must be more than 0 and at most 3600 seconds"),
        ({"proxy_url": f"ftp://a:{SECRET}@b"}, ": proxy_url must have the form http://HOST:3128"),
        ({"proxy_url": "http://a", "use_proxy": False}, ": proxy_url and use_proxy: false are mutually exclusive."),
        (
            {"account_password": "{{ " + SECRET + " }}"},
            ": account_password must not contain {{: values of profiles are",
        ),
        ({"base_url": "{{ url }}"}, ": base_url must not contain {{: values of profiles are no templates"),
        ({"session_id": "a b"}, ": session_id must be printable ASCII without spaces"),
        ({"base_url": "manager"}, ": base_url must look like"),
        ({"account_password_command": ""}, ": account_password_command must be a command: a string or a list"),
        ({"account_password_command": ["a", 1]}, ": account_password_command must be a command: a string or"),
        ({"account_password_command": "pass 'x"}, ": account_password_command must be a command: a string or"),
        ({"api_token": "a", "api_token_command": "b"}, ": api_token and api_token_command are mutually exclusive."),
    ],
)
def test_invalid_values_are_named_with_file_profile_and_key(file: ProfilesFile, values: Any, message: str) -> None:
    """All values are checked, also those that a task replaces."""
    file.write(prod=values)
    given = {"session_id": "s", "proxy_url": "", "base_url": URL}
    assert file.refusal(**given).startswith(f"FILE: profile prod{message}")


def test_values_are_converted_as_those_of_a_task(file: ProfilesFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    file.write(prod={"ca_path": "~/ca.pem", "validate_certs": "no", "request_timeout": "5", "api_token": None})
    assert complete() == {"ca_path": "/home/ann/ca.pem", "validate_certs": False, "request_timeout": 5.0}


def test_a_command_may_contain_what_only_a_shell_understands(file: ProfilesFile) -> None:
    """In quotes, or in a list, it is for the command."""
    for command in ("printf '$A | b'", ["printf", "$A | b"], "sh -c \"printf '$'; printf 'A | b'\""):
        file.write(prod={"account": "admin", "account_password_command": command})
        assert complete()["account_password"] == "$A | b"
    file.write(prod={"account": "admin", "account_password": "$SECRET"})
    assert complete()["account_password"] == "$SECRET"


def test_a_profile_that_is_there_twice(file: ProfilesFile) -> None:
    file.write_text("profiles:\n  prod: {base_url: https://a}\n  test: {}\n  prod: {base_url: https://b}\n")
    assert file.refusal() == "FILE has a key twice in a mapping, in the lines 2 and 4. Remove one of them"


def test_a_file_with_the_other_ending(file: ProfilesFile) -> None:
    file.write(prod=ACCOUNT)
    file.path.rename(file.path.with_suffix(".yaml"))
    with pytest.raises(
        InvalidOptions, match=r"profiles\.yml does not exist, but .*profiles\.yaml does\. Rename it to p"
    ):
        complete()


def test_encrypted_file_and_encrypted_value(file: ProfilesFile, tmp_path: Path) -> None:
    vault = VaultLib([("default", VaultSecret(b"the vault password"))])
    loader = DataLoader()
    loader.set_vault_secrets(vault.secrets)
    encrypted = vault.encrypt(SECRET).decode().replace("\n", "\n        ")
    plain = f"profiles:\n  prod:\n    account: admin\n    account_password: !vault |\n        {encrypted}"
    for text in (plain, vault.encrypt(plain).decode()):
        file.write_text(text)
        profiles = Profiles.from_loader(loader)
        assert profiles.complete({"profile": "prod"})["account_password"] == SECRET
        assert "event sources do not have" in file.refusal()
        with pytest.raises(InvalidOptions, match="cannot be decrypted: "):
            Profiles.from_loader(DataLoader()).complete({"profile": "prod"})


def test_a_profile_is_decrypted_once_for_a_batch(file: ProfilesFile, sim: Simulator) -> None:
    """The objects of a batch may name it, too: five objects decrypted it seven times."""
    decrypted: list[bytes] = []

    def decrypt(content: bytes) -> bytes:
        decrypted.append(content)
        profile = {"base_url": sim.url, "session_id": sim.session, "api_token": sim.token}
        return yaml.safe_dump({"profiles": {"prod": profile}}).encode()

    file.write_text("$ANSIBLE_VAULT;1.1;AES256\n")
    profiles = Profiles(decrypt)
    given = {"module": "vm", "common": {"profile": "prod", "state": "present"}, "profile": "prod"}
    objects = [{"name": f"vm-{number}", "profile": "prod"} for number in range(1, 6)]
    options = profiles.complete({**given, "objects": objects})
    ran = run_module("batch", options, run=partial(run_objects, lambda name: {}, profiles=profiles, given=options))
    assert ran.result["counts"]["unchanged"] == 5, ran.result
    assert len(decrypted) == 1


def test_a_profile_needs_only_its_own_vault_password(file: ProfilesFile) -> None:
    """A run knows the passwords of the vault ids that it was given, and event sources know none."""
    known, other = (VaultLib([(name, VaultSecret(name.encode()))]) for name in ("known", "other"))
    loader = DataLoader()
    loader.set_vault_secrets(known.secrets)
    lines = ["profiles:", "  plain:", "    session_id: plain-session"]
    for name, vault in (("ours", known), ("theirs", other)):
        text = vault.encrypt(SECRET, vault_id=name).decode().replace("\n", "\n        ")
        lines += [f"  {name}:", "    account: admin", f"    account_password: !vault |\n        {text}"]
    file.write_text("\n".join(lines))
    profiles = Profiles.from_loader(loader)
    assert profiles.complete({"profile": "ours"})["account_password"] == SECRET
    assert complete("plain")["session_id"] == "plain-session"
    with pytest.raises(InvalidOptions, match="cannot be decrypted: "):
        profiles.complete({"profile": "theirs"})


# --------------------------------------------------------------------------------------------------------- commands


def python(source: str) -> str:
    """Return a command that runs a Python program."""
    return shlex.join([sys.executable, "-c", source])


def count(path: Path, source: str = f"print({SECRET!r})") -> str:
    """Return a command that adds a line to a file and then runs a Python program."""
    return python(f"open({str(path)!r}, 'a').write('x\\n'); {source}")


def test_command_prints_the_secret_in_its_first_line(file: ProfilesFile, tmp_path: Path) -> None:
    command = python(f"print(' {SECRET} \\nuser: admin')")
    for number, form in enumerate((command, shlex.split(command))):
        file.write(**{f"prod{number}": {"account": "admin", "account_password_command": form}})
        assert complete(f"prod{number}")["account_password"] == SECRET


def test_command_is_run_without_a_shell(file: ProfilesFile) -> None:
    file.write(prod={"api_token_command": f"{sys.executable} -c 'import sys; print(sys.argv[1:])' '$HOME;id' `id` ~"})
    assert complete()["api_token"] == "['$HOME;id', '`id`', '~']"


@pytest.mark.parametrize("name", ["session_id", "account_password", "access_key_secret", "api_token", "proxy_url"])
def test_every_secret_may_come_from_a_command(file: ProfilesFile, name: str) -> None:
    file.write(prod={f"{name}_command": "echo the-secret"})
    assert complete()[name] == "the-secret"


def test_command_is_run_once_for_all_processes_of_a_run(file: ProfilesFile, tmp_path: Path) -> None:
    """Its secret is in no file."""
    runs = tmp_path / "runs"
    file.write(prod={**ACCOUNT, "account_password": None, "account_password_command": count(runs)})
    for dummy in range(3):
        child = os.fork()
        if not child:
            os._exit(complete()["account_password"] != SECRET)
        assert os.waitpid(child, 0)[1] == 0
    assert complete()["account_password"] == SECRET
    assert runs.read_text(encoding="utf-8") == "x\n"


def test_command_of_a_replaced_credential_is_not_run(file: ProfilesFile, tmp_path: Path) -> None:
    file.write(prod={"base_url": URL, "account": "admin", "account_password_command": count(tmp_path / "runs")})
    assert complete(session_id="s")["base_url"] == URL
    assert not (tmp_path / "runs").exists()


def test_failed_command_is_not_repeated_in_a_run(file: ProfilesFile, tmp_path: Path) -> None:
    """The message contains the masked standard error, and nothing of the output."""
    runs = tmp_path / "runs"
    source = f"import sys; print({SECRET!r}); sys.stderr.write('no key for {SECRET}\\x1b[2J\\n'); sys.exit(3)"
    file.write(prod={"api_token_command": count(runs, source)})
    for dummy in range(2):
        assert file.refusal().startswith(
            "FILE: profile prod: api_token_command ended with exit code 3: no key for ********"
        )
    assert "\x1b" not in file.refusal()
    assert runs.read_text(encoding="utf-8") == "x\n"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["/nowhere/pass", SECRET], ": /nowhere/pass cannot be run: No such file or directory"),
        ("true", " must print the secret in its first line, as UTF-8 text"),
        (python(f"print('\\n{SECRET}')"), " must print the secret in its first line, as UTF-8 text"),
        (python("import sys; sys.stdout.buffer.write(b'a\\xff')"), " must print the secret in its first line, as"),
        (python("import os; os.kill(os.getpid(), 9)"), " was ended by signal 9"),
        ("cat", " must print the secret in its first line, as UTF-8 text"),
    ],
)
def test_commands_that_print_no_secret(file: ProfilesFile, command: Any, message: str) -> None:
    """Standard input is empty."""
    file.write(prod={"api_token_command": command})
    assert file.refusal().startswith(f"FILE: profile prod: api_token_command{message}")


def test_command_that_leaves_a_process_in_the_background(file: ProfilesFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that a password manager starts keeps its output open. It is not waited for."""
    monkeypatch.setattr(commands, "TIMEOUT", 20.0)
    file.write(prod={"api_token_command": ["sh", "-c", f"sleep 30 & echo {shlex.quote(SECRET.replace(' ', '-'))}"]})
    assert complete()["api_token"] == SECRET.replace(" ", "-")


def test_trace_of_a_shell_shows_no_secret(file: ProfilesFile) -> None:
    script = f"curl --version --header 'Authorization: Bearer {SECRET}' >/dev/null; echo denied >&2; exit 3"
    file.write(prod={"api_token_command": ["sh", "-x", "-c", script]})
    assert "ended with exit code 3: denied" in file.refusal()


def test_command_that_does_not_end(file: ProfilesFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the command has started ends with it, and closes the pipe."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    source = (
        f"import subprocess; writer = open({str(pipe)!r}, 'w');"
        " subprocess.Popen(['sleep', '600'], pass_fds=[writer.fileno()]).wait()"
    )
    # The pipe must have a reader before the command opens it.
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    monkeypatch.setattr(commands, "TIMEOUT", 2.0)
    file.write(prod={"api_token_command": python(source)})
    assert file.refusal() == "FILE: profile prod: api_token_command did not end within 2 s"
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b""
    os.close(reader)


# ----------------------------------------------------------------------------------------------------- shared memory


def test_shared_secrets_that_have_no_room_are_not_stored() -> None:
    with edit_secrets() as secrets:
        before = dict(secrets)
        secrets["small"] = "kept"
    with edit_secrets() as secrets:
        secrets["large"] = "x" * 2_000_000
    with edit_secrets() as secrets:
        assert secrets == {**before, "small": "kept"}
        del secrets["small"]
    with edit_secrets() as secrets:
        assert secrets == before


def test_options_of_a_profile_are_those_of_the_connection(file: ProfilesFile) -> None:
    values: Mapping[str, Any] = {
        "base_url": URL,
        "path_prefix": "api",
        "account": "admin",
        "access_key_id": "k",
        "access_key_time_zone": "+08:00",
        "validate_certs": True,
        "ca_path": "/ca",
        "client_cert": "/c",
        "client_key": "/k",
        "use_proxy": True,
        "request_timeout": 3.0,
        "request_retries": 4,
        "service_version": "5.3",
    }
    secrets = {name: "secret" for name, rules in CONNECTION.items() if rules.get("no_log") and name != "proxy_url"}
    everything = {**values, **secrets, "proxy_url": "http://p:1"}
    assert everything.keys() | {"profile"} == CONNECTION.keys()
    file.write(prod=everything)
    assert complete() == everything
