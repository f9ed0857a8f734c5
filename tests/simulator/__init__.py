"""A stateful simulator of a virtualization management service, for tests and for trying out playbooks."""
