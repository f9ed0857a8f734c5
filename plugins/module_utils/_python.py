"""Refuse a Python that is too old for the collection, in a module process and in the controller.

Python 3.6 can run this file and everything before its import in a module. Newer syntax would end the module process
with a SyntaxError, or later with a TypeError, before it could name the reason.
"""

import sys

REQUIRED = (3, 10)

# Modules of data movers run with the platform's Python, which alone has libnbd: 3.9 on RHEL 9.
REQUIRED_ON_MOVERS = (3, 9)


def check_python(required: "tuple[int, int]" = REQUIRED) -> None:
    """End the module process with a failure, or in the controller raise AnsibleError, if Python is too old."""
    if sys.version_info < required:
        import json

        version = ".".join(map(str, sys.version_info[:3]))
        if "ansible.errors" in sys.modules:
            core = sys.modules["ansible.release"].__version__
            raise sys.modules["ansible.errors"].AnsibleError(
                "virtinfra.manager needs ansible-core 2.16 or newer with Python 3.10 or newer; this is "
                f"{core} with Python {version} ({sys.executable}). Install ansible-core with a newer Python, or use an"
                " execution environment."
            )
        needed = ".".join(map(str, required))
        message = (
            f"virtinfra.manager needs Python {needed} or newer; this module ran with Python {version}"
            f" ({sys.executable}). Set ansible_python_interpreter to a newer Python."
        )
        error = {
            "code": "INVALID",
            "description": "The options are invalid. Nothing was sent.",
            "details": message,
            "causes": [],
        }
        sys.stdout.write(json.dumps({"failed": True, "changed": False, "msg": message, "error": error}))
        raise SystemExit(1)
