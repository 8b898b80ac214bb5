# SPDX-License-Identifier: Apache-2.0
"""Add a built site to the folder of all versions, for GitHub Pages.

    python dev/publish_docs.py build/site PAGES VERSION ADDRESS

VERSION is "dev" or a release such as "26.10.0" or "v26.10.0". Each version has its own folder. The
folder `stable` is a copy of the newest release. All folders get the same list of versions, which
the version switcher reads, with links below ADDRESS. The first page redirects to `stable`, or to
`dev` if there is no release.
"""

import json
import re
import shutil
import sys
from pathlib import Path

SWITCHER = Path("_static/switcher.json")
REDIRECT = """\
<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={folder}/docs/index.html">
<title>cudf-arrow-bridge</title>
<a href="{folder}/docs/index.html">cudf-arrow-bridge</a>
"""


def publish(site: Path, pages: Path, version: str, address: str) -> None:
    """Replace the folder of a version, and update `stable`, the lists of versions and the redirect.

    Raises
    ------
    ValueError
        If `version` is neither "dev" nor three numbers.
    """
    version = version.removeprefix("v")
    if version != "dev" and not is_release(version):
        raise ValueError(f"version: expected 'dev' or a release such as '26.10.0', got {version!r}")
    replace(site, pages / version)
    releases = sorted(filter(is_release, names(pages)), key=numbers, reverse=True)
    if releases:
        replace(pages / releases[0], pages / "stable")
    versions = json.dumps(switcher(releases, address.rstrip("/"), "dev" in names(pages)), indent=2)
    for name in names(pages):
        (pages / name / SWITCHER).write_text(versions + "\n")
    folder = "stable" if releases else "dev"
    (pages / "index.html").write_text(REDIRECT.format(folder=folder))
    (pages / ".nojekyll").touch()  # Jekyll would remove folders such as _static


def switcher(releases: list[str], address: str, has_dev: bool) -> list[dict[str, object]]:
    """Return the entries of the version switcher: dev, then the releases, newest first."""
    entries: list[dict[str, object]] = [
        {"name": name, "version": name, "url": f"{address}/{name}/"} for name in releases
    ]
    if entries:
        entries[0] |= {
            "name": f"{releases[0]} (stable)",
            "url": f"{address}/stable/",
            "preferred": True,
        }
    dev = {"name": "dev", "version": "dev", "url": f"{address}/dev/"}
    return [dev, *entries] if has_dev else entries


def is_release(name: str) -> bool:
    return re.fullmatch(r"\d+\.\d+\.\d+", name) is not None


def numbers(release: str) -> list[int]:
    return [int(part) for part in release.split(".")]


def names(pages: Path) -> list[str]:
    return [path.parent.parent.name for path in pages.glob(f"*/{SWITCHER}")]


def replace(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


if __name__ == "__main__":
    publish(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
