"""The storage of event sources, in a SQLite file that survives a kill, or in memory without a file."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...module_utils._api.errors import InvalidOptions
from .._run.paths import describe_missing_folder

# How many job ids are stored to recognize duplicates. The service stops posting a result after half a minute.
MAX_REMEMBERED = 100_000
PRUNING_INTERVAL = 1000


def open_database(option: str, path: str | None, schema: str) -> sqlite3.Connection:
    """Return a database that only this process uses, and only this user can read.

    Committed data survives a kill of the process; the last commits may be lost when the machine fails. Raise
    InvalidOptions naming the option when the file cannot be used.
    """
    try:
        if path is not None:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        database = sqlite3.connect(path or ":memory:", timeout=0, isolation_level=None, check_same_thread=False)
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute(f"CREATE TABLE IF NOT EXISTS {schema}")
        # The lock is taken with the first write and kept from then on.
        database.execute("PRAGMA user_version = 1")
    except (OSError, sqlite3.Error) as error:
        raise InvalidOptions(f"{option} {path} cannot be used: {_explain(path, error)}") from None
    return database


def _explain(path: str | None, error: Exception) -> str:
    """Return why a file cannot be used."""
    if "locked" in str(error):
        return "another process uses it"
    if isinstance(error, FileNotFoundError) and path:
        return describe_missing_folder(Path(path).parent)
    return str(error)


class Store:
    """A database of an event source."""

    _database: sqlite3.Connection

    def close(self) -> None:
        """Close the file, so that another source can use it."""
        self._database.close()


class Spool(Store):
    """Acknowledged results that the rules have not taken yet, oldest first, and the ids of all jobs."""

    def __init__(self, path: str | None) -> None:
        self._database = open_database("spool", path, "jobs (number INTEGER PRIMARY KEY, uuid TEXT UNIQUE, event TEXT)")
        self._database.execute("CREATE INDEX IF NOT EXISTS pending ON jobs (number) WHERE event IS NOT NULL")
        query = "SELECT count(*) FROM jobs WHERE event IS NOT NULL"
        self.pending: int = self._database.execute(query).fetchone()[0]

    def knows(self, uuid: str) -> bool:
        """Return whether the result of a job was added before."""
        return self._database.execute("SELECT 1 FROM jobs WHERE uuid = ?", (uuid,)).fetchone() is not None

    def add(self, uuid: str, event: Mapping[str, Any]) -> bool:
        """Add the result of a job; return False if it was added before."""
        query = "INSERT OR IGNORE INTO jobs (uuid, event) VALUES (?, ?)"
        added = self._database.execute(query, (uuid, json.dumps(event))).rowcount == 1
        self.pending += added
        return added

    def read(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the numbers and the events of the results that are there now, oldest first, one at a time."""
        numbers = self._database.execute("SELECT number FROM jobs WHERE event IS NOT NULL ORDER BY number").fetchall()
        for (number,) in numbers:
            event = self._database.execute("SELECT event FROM jobs WHERE number = ?", (number,)).fetchone()[0]
            yield number, json.loads(event)

    def remove(self, numbers: Sequence[int]) -> None:
        """Remove results that the rules have taken; their ids remain, among the latest 100,000."""
        self._database.execute("BEGIN")
        self._database.executemany("UPDATE jobs SET event = NULL WHERE number = ?", [(number,) for number in numbers])
        self._database.execute("COMMIT")
        self.pending -= len(numbers)
        for number in numbers:
            if number % PRUNING_INTERVAL == 0:
                query = "DELETE FROM jobs WHERE event IS NULL AND number <= ?"
                self._database.execute(query, (number - MAX_REMEMBERED,))


class StateFile(Store):
    """The last known values of the watched fields of each object, by its uuid."""

    def __init__(self, path: str | None) -> None:
        self._database = open_database("state_file", path, "objects (uuid TEXT PRIMARY KEY, fields TEXT)")

    def load(self) -> dict[str, dict[str, Any]]:
        """Return the fields of all objects."""
        return {uuid: json.loads(fields) for uuid, fields in self._database.execute("SELECT uuid, fields FROM objects")}

    def save(self, objects: Mapping[str, Mapping[str, Any]], gone: Iterable[str] = ()) -> None:
        """Replace the fields of these objects, and delete those of lost objects."""
        self._database.execute("BEGIN")
        rows = [(uuid, json.dumps(fields)) for uuid, fields in objects.items()]
        self._database.executemany("INSERT OR REPLACE INTO objects VALUES (?, ?)", rows)
        self._database.executemany("DELETE FROM objects WHERE uuid = ?", [(uuid,) for uuid in gone])
        self._database.execute("COMMIT")
