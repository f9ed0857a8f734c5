"""Build the collection in the current folder and repack it, so that the same sources result in the same bytes.

The archive is refused when it contains a file that ``artifact_files.txt`` does not list, or is too large.
"""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

ALLOWED = Path(__file__).with_name("artifact_files.txt")
MAX_SIZE = 1_300_000


def build(target: Path) -> Path:
    """Build the collection in the current folder into the folder ``target`` and return the archive."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["ansible-galaxy", "collection", "build", "--output-path", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        built = next(Path(folder).glob("*.tar.gz"))
        archive = target / built.name
        archive.write_bytes(repack(built))
    return archive


def repack(archive: Path) -> bytes:
    """Return an archive with the same contents that depends only on names and contents, not on times and owners."""
    packed = io.BytesIO()
    with tarfile.open(archive) as source, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as target:
        for member in sorted(source.getmembers(), key=lambda member: member.name):
            plain = tarfile.TarInfo(member.name)
            plain.type, plain.size, plain.mode = member.type, member.size, member.mode
            target.addfile(plain, source.extractfile(member) if member.isfile() else None)
    return gzip.compress(packed.getvalue(), mtime=0)


def find_problems(names: Iterable[str], patterns: Iterable[str], size: int) -> list[str]:
    """Return the problems of an archive: unlisted files, patterns without a file, and its size in bytes."""
    names, patterns = list(names), list(patterns)
    unlisted = [name for name in names if not any(fnmatchcase(name, pattern) for pattern in patterns)]
    unused = [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in names)]
    return [
        *(
            f"{name} is not listed in {ALLOWED.name}: add it there, or to build_ignore in galaxy.yml"
            for name in unlisted
        ),
        *(f"the archive contains nothing that matches {pattern} in {ALLOWED.name}" for pattern in unused),
        *([f"the archive has {size:,} bytes, more than {MAX_SIZE:,}"] if size > MAX_SIZE else []),
    ]


def main() -> None:
    """Build into the folder named on the command line and print the archive's path."""
    archive = build(Path(sys.argv[1]))
    with tarfile.open(archive) as packed:
        names = [member.name for member in packed.getmembers() if member.isfile()]
    patterns = [line for line in ALLOWED.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    if problems := find_problems(names, patterns, archive.stat().st_size):
        raise SystemExit("\n".join(problems))
    print(archive)


if __name__ == "__main__":
    main()
