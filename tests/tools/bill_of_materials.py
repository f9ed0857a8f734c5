"""Write the bill of materials (CycloneDX) of a release archive: its files, and what the collection needs."""

from __future__ import annotations

import hashlib
import re
import sys
import tarfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL


def describe_archive(archive: Path) -> str:
    """Return the bill of materials of an archive as JSON, which depends on the archive alone.

    So whoever builds the archive again gets the same text.
    """
    checksum = hash_content(archive.read_bytes())
    # A time or a random number would make each text different.
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_URL, checksum.content))
    bom.metadata.timestamp = None
    with tarfile.open(archive) as packed:
        galaxy = read_manifest(packed)["collection_info"]
        runtime = yaml.safe_load(read_member(packed, "meta/runtime.yml"))
        packages = read_member(packed, "requirements.txt").decode().split()
        files = list(describe_files(packed))
    name = f"{galaxy['namespace']}.{galaxy['name']}"
    collection = Component(
        type=ComponentType.LIBRARY,
        name=name,
        version=galaxy["version"],
        bom_ref=name,
        description=galaxy["description"],
        purl=PackageURL("generic", galaxy["namespace"], galaxy["name"], galaxy["version"]),
        licenses=[LicenseExpression(" AND ".join(galaxy["license"]))],
        hashes=[checksum],
        components=files,
    )
    needed = [describe_requirement(text) for text in (f"ansible-core{runtime['requires_ansible']}", *packages)]
    bom.metadata.component = collection
    bom.components.update(needed)
    bom.register_dependency(collection, needed)
    text = JsonV1Dot6(bom).output_as_string(indent=2)
    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise SystemExit(f"The bill of materials is not valid: {error}")
    return f"{text}\n"


def hash_content(content: bytes) -> HashType:
    """Return the SHA-256 checksum of a content."""
    return HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(content).hexdigest())


def read_member(packed: tarfile.TarFile, name: str) -> bytes:
    """Return the content of a file of an archive."""
    file = packed.extractfile(name)
    if file is None:
        raise SystemExit(f"{name} is no file in the archive")
    return file.read()


def read_manifest(packed: tarfile.TarFile) -> dict[str, Any]:
    """Return the manifest of a collection's archive."""
    manifest: dict[str, Any] = yaml.safe_load(read_member(packed, "MANIFEST.json"))
    return manifest


def describe_files(packed: tarfile.TarFile) -> Iterator[Component]:
    """Yield a component for each file of an archive."""
    for member in packed.getmembers():
        if member.isfile():
            checksum = hash_content(read_member(packed, member.name))
            yield Component(type=ComponentType.FILE, name=member.name, bom_ref=member.name, hashes=[checksum])


def describe_requirement(requirement: str) -> Component:
    """Return the component for a requirement such as ``requests>=2.28``; its version is the user's choice."""
    name = re.match(r"[\w.-]+", requirement)
    if name is None:
        raise SystemExit(f"{requirement} is no requirement")
    return Component(
        type=ComponentType.LIBRARY,
        name=name[0],
        bom_ref=name[0],
        purl=PackageURL("pypi", name=name[0]),
        description=f"Required: {requirement}",
    )


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(describe_archive(Path(sys.argv[1])), encoding="utf-8")
