# SPDX-License-Identifier: Apache-2.0
"""Smoke test of libcudf's kernels, then of exports and imports of device memory.

    python3 dev/gpu/smoke.py

It exits with 1 at the first failure.
"""

from __future__ import annotations

import sys
from typing import Any


def check(what: str, found: Any, right: Any) -> None:
    if found != right:
        sys.exit(f"{what}: {found!r} found, {right!r} expected")
    print(f"{what}: ok", flush=True)


def check_libraries() -> None:
    import cudf
    import pyarrow as pa
    import pylibcudf as plc

    column = plc.Column.from_arrow(pa.array([1, None, 3], pa.int64()))
    check("pylibcudf, to the device and back", column.to_arrow().to_pylist(), [1, None, 3])
    total = plc.reduce.reduce(column, plc.aggregation.sum(), plc.DataType(plc.TypeId.INT64))
    check("pylibcudf, a sum", total.to_arrow().as_py(), 4)
    frame = cudf.DataFrame({"key": ["a", "b", "a"], "value": [1, 2, 3]})
    sums = frame.groupby("key")["value"].sum().to_pandas().to_dict()
    check("cuDF, sums by key", sums, {"a": 4, "b": 2})


def check_bridge() -> None:
    import cudf
    import pyarrow as pa

    import cudf_arrow_bridge as cab

    rows = [{"number": 1, "text": "x"}, {"number": None, "text": None}, {"number": 3, "text": "z"}]
    frame = cudf.DataFrame.from_arrow(pa.Table.from_pylist(rows))
    array = cab.to_arrow_device(frame)
    check("export, where it is", array.device_type, cab.DeviceType.CUDA)
    check("export, its rows", pa.array(array.to_host()).to_pylist(), rows)
    back = cab.from_arrow_device(array)
    addresses = [one["number"].to_pylibcudf()[0].data().ptr for one in (frame, back)]
    check("import, its memory", addresses[1], addresses[0])
    check("import, computed on by cuDF", int(back["number"].sum()), 4)
    uploaded = cab.from_arrow_device(pa.table({"a": pa.array([True, False, None] * 100)}))
    check("from the host, converted and counted", int(uploaded["a"].sum()), 100)


def main() -> None:
    import cudf_arrow_bridge

    print("imported", cudf_arrow_bridge.__version__, flush=True)
    if cudf_arrow_bridge.has_gpu():
        check_libraries()
        check_bridge()


if __name__ == "__main__":
    main()
