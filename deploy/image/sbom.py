"""The image's bill of materials, SPDX 2.3 as JSON: every file with its digests, every Debian package that a
file is of or that is linked into the program, every npm package of its web page, and how they hang together."""

import hashlib
import re
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import bundled
import debian
from archive import Content, Directory, Source, Symlink

NONE = "NOASSERTION"


def sbom(
    name: str,
    version: str,
    files: Mapping[str, Source],
    static: Mapping[debian.Package, str],
    arch: str,
    created: int,
    tree: debian.Tree,
    npm: Iterable[bundled.Npm] = (),
) -> dict:
    """`files` is the image's, `static` what linked.static_packages() found, `npm` what bundled.npm_packages()
    did, `created` seconds since 1970."""
    entries = {
        path: _file(path, _content(source))
        for path, source in sorted(files.items())
        if not isinstance(source, Symlink | Directory)
    }
    owners, relations = _owners(files, static, tree), []
    image = _package("SPDXRef-image", name, version, "CONTAINER")
    program = _package("SPDXRef-tranche", "tranche", version, "APPLICATION", declared="Apache-2.0")

    def relate(one: str, how: str, other: str) -> None:
        relations.append({"spdxElementId": one, "relationshipType": how, "relatedSpdxElement": other})

    relate("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-image")
    relate("SPDXRef-image", "CONTAINS", "SPDXRef-tranche")
    for path, entry in entries.items():
        owner = owners.get(path)
        holder = (
            "SPDXRef-tranche"
            if path.endswith(("/tranche", "/tranche-top")) or path == "/usr/share/doc/tranche/copyright"
            else "SPDXRef-image"
        )
        relate(_id("deb", owner.name) if owner else holder, "CONTAINS", entry["SPDXID"])
    for package, how in static.items():
        relate("SPDXRef-tranche", "STATIC_LINK" if how == "archive" else "CONTAINS", _id("deb", package.name))
    for package in npm:
        relate("SPDXRef-tranche", "CONTAINS", _id("npm", package.name))
    packages = {*owners.values(), *static}
    for package in sorted(packages - set(static)):
        relate("SPDXRef-image", "CONTAINS", _id("deb", package.name))
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{name}-{version}-{arch}",
        "documentNamespace": f"urn:uuid:{_identity(name, version, arch, entries)}",
        "creationInfo": {
            "created": datetime.fromtimestamp(created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: tranche-deploy-image"],
        },
        "packages": [image, program, *map(_debian_package, sorted(packages)), *map(_npm_package, npm)],
        "files": list(entries.values()),
        "relationships": relations,
    }


def _content(source: Source) -> bytes:
    if isinstance(source, Content):
        return source.data
    return source if isinstance(source, bytes) else Path(source).read_bytes()


def _owners(
    files: Mapping[str, Source], static: Mapping[debian.Package, str], tree: debian.Tree
) -> dict[str, debian.Package]:
    """Path in the image -> its package, of every file that has one."""
    owners = {
        path: package
        for path, source in files.items()
        if isinstance(source, str | Path) and (package := tree.owner(Path(source)))
    }
    by_name = {package.name: package for package in (*owners.values(), *static)}
    # Records and notices lie under their package's name.
    for path in files:
        if found := re.fullmatch(r"/var/lib/dpkg/status\.d/(.*)|/usr/share/doc/(.*)/copyright", path):
            if package := by_name.get(found[1] or found[2]):
                owners[path] = package
    return owners


def _file(path: str, data: bytes) -> dict:
    return {
        "SPDXID": _id("file", path),
        "fileName": f".{path}",
        "checksums": [
            {"algorithm": "SHA1", "checksumValue": hashlib.sha1(data).hexdigest()},
            {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()},
        ],
        "licenseConcluded": NONE,
        "copyrightText": NONE,
    }


def _debian_package(package: debian.Package) -> dict:
    entry = _package(_id("deb", package.name), package.name, package.version, "LIBRARY")
    entry["supplier"] = "Organization: Debian"
    entry["sourceInfo"] = f"built package from: {package.source} {package.source_version}"
    entry["externalRefs"] = [_purl(package.purl)]
    return entry


def _npm_package(package: bundled.Npm) -> dict:
    entry = _package(_id("npm", package.name), package.name, package.version, "LIBRARY", package.licence)
    entry["externalRefs"] = [_purl(package.purl)]
    return entry


def _purl(purl: str) -> dict:
    return {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}


def _package(identity: str, name: str, version: str, purpose: str, declared: str = NONE) -> dict:
    return {
        "SPDXID": identity,
        "name": name,
        "versionInfo": version,
        "primaryPackagePurpose": purpose,
        "downloadLocation": NONE,
        "filesAnalyzed": False,
        "licenseConcluded": NONE,
        "licenseDeclared": declared,
        "copyrightText": NONE,
    }


def _id(kind: str, name: str) -> str:
    return f"SPDXRef-{kind}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def _identity(name: str, version: str, arch: str, entries: Mapping[str, dict]) -> uuid.UUID:
    text = "\n".join(
        [name, version, arch, *(entry["checksums"][1]["checksumValue"] for entry in entries.values())]
    )
    return uuid.uuid5(uuid.NAMESPACE_OID, text)
