# SPDX-License-Identifier: Apache-2.0
"""Add a software bill of materials to the unpacked wheel in a folder (PEP 770, CycloneDX 1.6).

    SOURCE_DATE_EPOCH=... python dev/sbom.py FOLDER

It lists what NOTICE lists: the libraries that are linked statically or compiled from headers.
"""

import os
import runpy
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path

from cyclonedx.contrib.this.builders import this_component
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.tool import ToolRepository
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL


def component(purl: str) -> Component:
    url = PackageURL.from_string(purl)
    return Component(
        type=ComponentType.LIBRARY, name=url.name, version=url.version, purl=url, bom_ref=purl
    )


def bill_of_materials(folder: Path) -> str:
    built = runpy.run_path(str(folder / "cudf_arrow_bridge" / "_load" / "build_info.py"))
    package = component(
        f"pkg:pypi/cudf-arrow-bridge{built['PACKAGE_SUFFIX']}@{built['__version__']}"
    )
    linked = [component(f"pkg:github/apache/arrow-nanoarrow@{built['NANOARROW_VERSION']}")]
    for wheel in built["LINKED_WHEELS"]:
        name, version = wheel.rsplit("-", 1)
        linked.append(component(f"pkg:pypi/{name.replace('_', '-')}@{version}"))
    bom = Bom(
        components=linked,
        metadata=BomMetaData(
            component=package,
            tools=ToolRepository(components=[this_component()]),
            timestamp=datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC),
        ),
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, str(package.purl)),
    )
    bom.register_dependency(package, linked)
    output = JsonV1Dot6(bom)
    text = output.output_as_string(indent=2)
    if error := JsonStrictValidator(output.schema_version).validate_str(text):
        raise SystemExit(f"{folder}: invalid bill of materials: {error}")
    return text


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    [metadata] = folder.glob("*.dist-info")
    (metadata / "sboms").mkdir()
    text = bill_of_materials(folder)
    (metadata / "sboms" / "cudf-arrow-bridge.cdx.json").write_text(text)
