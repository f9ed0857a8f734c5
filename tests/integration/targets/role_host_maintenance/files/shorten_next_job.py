# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wait until the simulator of the given URL has a call that changes a host, then make later jobs short."""

from __future__ import annotations

import json
import sys
import time
from urllib.request import Request, urlopen

control = f"{sys.argv[1]}/_simulator"
while not any(entry["method"] == "PUT" for entry in json.load(urlopen(f"{control}/log"))):
    time.sleep(0.02)
urlopen(Request(f"{control}/config", data=b'{"latencies": {"ChangeHostState": 0.01}}'))
