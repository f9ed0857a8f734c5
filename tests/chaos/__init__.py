"""Run tasks against a failing service: each must end, report `changed` correctly, and perform nothing twice."""
