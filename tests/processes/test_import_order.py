# SPDX-License-Identifier: Apache-2.0
"""Processes import the bridge before or after the packages that carry arrays."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.processes import Process

protocol = pytest.importorskip("distributed.protocol", reason="the extra dask is not installed")
pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")


def test_arrays_are_registered_and_deserialized_in_every_order_of_imports(tmp_path):
    array = cab.to_arrow_device(pa.table({"a": range(1500), "s": ["größer", None, ""] * 500}))
    header, frames = protocol.serialize(array, on_error="raise")
    path = tmp_path / "frames"
    path.write_bytes(pickle.dumps((header, list(map(bytes, frames)))))
    with Process("testing.exchange.import_order") as process:
        process.ask("outcomes", path=str(path))
        outcomes = process.answer()
    assert len(outcomes) >= 3
    assert outcomes == ["passed"] * len(outcomes)
