"""A substitute for the get-pip.py that ansible-test would download.

It takes the arguments of get-pip.py and installs the requested pip with the pip of Python itself.
"""

from __future__ import annotations

import ensurepip
import runpy
import sys
from pathlib import Path

# Debian removes the wheels from ensurepip.
FOLDERS = (Path(ensurepip.__file__).parent / "_bundled", Path("/usr/share/python-wheels"))
GET_PIP_ONLY = ("--no-setuptools", "--no-wheel")

wheel = next(path for folder in FOLDERS for path in sorted(folder.glob("pip-*.whl")))
sys.path.insert(0, str(wheel))
sys.argv[1:] = ["install", "--upgrade", *(argument for argument in sys.argv[1:] if argument not in GET_PIP_ONLY)]
runpy.run_module("pip", run_name="__main__", alter_sys=True)
