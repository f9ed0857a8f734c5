"""The playbooks of the collection, and their variables."""

from __future__ import annotations

from collections.abc import Mapping

# The playbooks: each with the role, if it has one, which checks its own variables, and the variables that only the
# playbook has.
PLAYBOOKS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "back_up_vms": ("vm_backup", ("back_up_vms_pattern",)),
    "capacity_report": ("capacity_report", ()),
    "demo": ("", ("demo_cluster", "demo_hosts", "demo_ssh_password")),
    "describe": ("site_description", ()),
    "drift": ("site_drift", ()),
    "evacuate_hosts": ("host_evacuation", ()),
    "maintenance_walk": ("host_maintenance", ("maintenance_walk_pattern", "maintenance_walk_serial")),
    "notifications": ("notifications", ()),
    "onboard_hosts": ("host_onboarding", ("onboard_hosts_pattern",)),
    "power_vms": ("vm_power", ()),
    "prove_backups": ("vm_backup_drill", ()),
    "remove_hosts": ("host_removal", ("remove_hosts_pattern", "remove_hosts_serial")),
    "repair_host": ("host_maintenance", ()),
    "restore_vm_backup": ("vm_backup_restore", ()),
    "restore_vms": ("vm_restore", ()),
    # Users may have other variables that begin with chat_, such as the channel in their chat_message.
    "send_to_chat": ("", ("chat_batch_size", "chat_entries", "chat_message", "chat_subject", "chat_url_variable")),
    "shut_down_site": ("site_shutdown", ()),
    "snapshot_vms": ("vm_snapshots", ()),
    "vm_backup_report": ("vm_backup_report", ()),
}
