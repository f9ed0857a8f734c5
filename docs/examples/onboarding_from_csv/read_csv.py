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
