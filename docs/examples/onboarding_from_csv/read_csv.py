# Copyright (c) 2026, Contributors to the virtinfra.manager project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print the rows of a CSV file as JSON. Spreadsheet programs write quotes, semicolons and a byte order mark."""

import csv
import json
import sys
from pathlib import Path

text = Path(sys.argv[1]).read_text(encoding="utf-8-sig")
heading = text.partition("\n")[0]
separator = max(",;\t", key=heading.count)
rows = csv.DictReader(text.splitlines(keepends=True), delimiter=separator, skipinitialspace=True)
print(json.dumps([row for row in rows if any(row.values())]))
