"""The words of users for values, and the values that they mean here."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias

from .errors import suggest_name

# An option, possibly with a value after a colon, or several options of which the user may mean any.
Meaning: TypeAlias = "str | tuple[str, ...]"


def map_words(*rows: tuple[str, Meaning | list[Meaning]]) -> dict[str, list[Meaning]]:
    """Return the meanings of words. A row has words, separated by blanks, and what they mean, the likeliest first."""
    return {
        word: meanings if isinstance(meanings, list) else [meanings]
        for words, meanings in rows
        for word in words.split()
    }


# Values that users write, and the values that they may mean, the likeliest first. A value with a dot is that of a
# module, and may mean another option.
VALUES: Mapping[str, list[Meaning]] = map_words(
    ("attach attached create created add added define defined exists latest updated", "present"),
    ("detach", ["detached", "absent"]),
    ("delete deleted destroy destroyed detached expunged purged remove removed terminated undefined", "absent"),
    ("active on online poweredon powered-on powered_on poweron start started true up", ["running", "enabled"]),
    ("resume resumed unpause unpaused", "running"),
    ("halted inactive false offline poweredoff powered-off powered_off poweroff down", ["stopped", "disabled", "cold"]),
    ("shutdown shutdownguest shutoff off", ["stopped", "off", "disabled", "grace"]),
    ("reboot rebooted rebootguest reset restart", ["restarted", "reset"]),
    ("hibernated pause suspend suspended", "paused"),
    ("enable activated", "enabled"),
    ("disable deactivated", "disabled"),
    ("maintain maintenance_mode premaintenance", "maintenance"),
    ("connected reconnect", "reconnected"),
    ("revert restore restored rollback rolledback", "reverted"),
    ("vm.force force forced hard immediate immediately", "cold"),
    ("gz gzip lz4 zlib", "zstd"),
    ("inbound ingress rx download", "in"),
    ("outbound egress tx upload", "out"),
    ("en english", "en_US"),
    ("cn zh chinese", "zh_CN"),
    ("logged_in login", "present"),
    ("logged_out logout", "absent"),
    ("ascending", "asc"),
    ("descending", "desc"),
    ("continue ignore proceed skip", ["continue", "skip"]),
    ("abort exit fail", ["stop", "fail"]),
    ("stop", ["stopped", "off", "disabled", "fail"]),
    ("append merge", "add"),
    ("overwrite replace set", "exact"),
    ("cycle", "reset"),
    ("daily days", "day"),
    ("hourly hours", "hour"),
    ("minutely minutes", "minute"),
    ("evacuate", "migrate"),
    ("acpi soft graceful gracefully", "grace"),
    ("vm.recovered volume.recovered resource.recovered", "recover: true"),
    ("vm.undeleted volume.undeleted resource.undeleted vm.undelete volume.undelete", "recover: true"),
    ("kvm_host.cycled kvm_host.rebooted kvm_host.reset kvm_host.restarted", "power: reset"),
    (
        "kvm_host.off kvm_host.stopped kvm_host.stop kvm_host.shutdown kvm_host.poweredoff kvm_host.powered_off",
        "power: off",
    ),
    ("kvm_host.on kvm_host.poweredon kvm_host.powered-on kvm_host.powered_on kvm_host.poweron", "power: on"),
    ("kvm_host.running kvm_host.start kvm_host.started", "power: on"),
    ("kvm_host.evacuate", "migrate"),
    ("sns_endpoint.wechat sns_endpoint.wecom sns_endpoint.weixin", "workchat"),
    ("vm_ha.none vm_ha.off vm_ha.false vm_ha.disabled", "state: absent"),
    ("vm_nic.connected vm_nic.up", "enabled"),
    ("vm_nic.disconnected vm_nic.down", "disabled"),
    ("vm_snapshot_group.all vm_snapshot_group.children vm_snapshot_group.tree", "chain"),
    ("scheduler_job.snapshotvm scheduler_job.vmsnapshot scheduler_job.snapshot_vm", "volumeSnapshotGroup"),
    # Roles that act and put back have several words for both.
    ("host_evacuation.drained host_evacuation.maintenance host_evacuation.migrated", "evacuated"),
    ("host_evacuation.present host_evacuation.stopped", "evacuated"),
    ("host_evacuation.absent host_evacuation.returned host_evacuation.reverted", "restored"),
    ("host_evacuation.running", "restored"),
    ("host_maintenance.enabled host_maintenance.restored host_maintenance.running", "absent"),
    ("host_maintenance.maintenance host_maintenance.stopped", "present"),
    ("host_onboarding.created host_onboarding.present host_onboarding.running", "enabled"),
    ("site_shutdown.restored site_shutdown.reverted", "running"),
    ("vm_backup.stopped vm_backup.unmarked", "ended"),
    ("vm_backup_restore.recovered vm_backup_restore.reverted", "restored"),
    ("vm_backup_restore.restart vm_backup_restore.restarted", "vm_backup_restore_start: true"),
    ("vm_backup_restore.running vm_backup_restore.started", "vm_backup_restore_start: true"),
    ("vm_power.reverted", "restored"),
    ("vm_restore.restored", "present"),
    ("management", "ManagementNetwork"),
    ("tenant vm_network", "TenantNetwork"),
    ("storage iscsi nfs vsan", "StorageNetwork"),
    ("backup", "BackupNetwork"),
    ("live_migration migration vmotion", "MigrationNetwork"),
)


def list_meant_values(word: str, choices: Collection[str], scopes: Collection[str] = ("",)) -> Iterator[str]:
    """Yield the choices, and other options with a value, that a word means, the likeliest first.

    ``scopes`` are the modules or kinds whose words these are, and "" for the words that all have.
    """
    for scope in scopes:
        for meaning in VALUES.get(f"{scope}.{word}" if scope else word, ()):
            if isinstance(meaning, str) and (meaning in choices or ": " in meaning):
                yield meaning


def suggest_choice(value: str, choices: Collection[str]) -> str:
    """Return a sentence, and a space before it, with the choice that a value means, or misspells; empty without any."""
    meant = next(list_meant_values(value.casefold(), choices), "")
    return f" Did you mean {meant}?" if meant else suggest_name(value, choices, is_misspelling=True)
