# SPDX-License-Identifier: Apache-2.0
"""The cached state that imports and exports of arrays of one schema share."""

from __future__ import annotations

import pyarrow as pa

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.cuda.streams import PER_THREAD_HANDLE
from cudf_arrow_bridge.import_ import importer
from testing.peers.arrays import DeviceOnly

#: The default arguments: stream, mr, to, copy, validate and sanitize.
USUAL = (None, None, "pylibcudf", None, "minimal", True)


def test_default_arguments_share_an_importer():
    assert importer.Importer.of(*USUAL) is importer.Importer.of(*USUAL)


def test_per_thread_default_stream_is_resolved_for_each_import(monkeypatch):
    monkeypatch.setattr(importer, "CUDF_HANDLE", PER_THREAD_HANDLE)
    assert importer.Importer.of(*USUAL) is not importer.Importer.of(*USUAL)


def test_dictionaries_of_different_sizes_keep_their_values():
    """Unsigned indices become signed, and wider if the dictionary is too large."""
    for size in (3, 200, 3, 200):
        values = pa.array([str(i) for i in range(size)])
        indices = pa.array([0, size - 1, None], pa.uint8())
        array = pa.DictionaryArray.from_arrays(indices, values)
        exported = cab.to_arrow_device(DeviceOnly(array))
        assert pa.array(exported).to_pylist() == ["0", str(size - 1), None]
