# SPDX-License-Identifier: Apache-2.0
"""cuDF frames in device memory with `install_protocol`, for consumers of host memory."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
from testing.device import GPU
from testing.peers.arrays import HostOnly

pytestmark = GPU


@pytest.fixture
def frame():
    import cudf

    return cudf.DataFrame({"a": [1, None, 3], "b": ["x", "y", None]})


def test_install_protocol_lets_host_consumers_read_frames(frame):
    own = type(frame).__arrow_c_stream__
    with bridge.install_protocol():
        assert pa.table(frame).to_pydict() == {"a": [1, None, 3], "b": ["x", "y", None]}
        assert pa.array(frame["b"]).to_pylist() == ["x", "y", None]
        assert pa.array(frame["a"], type=pa.int8()).to_pylist() == [1, None, 3]
        assert pa.chunked_array(frame["a"]).to_pylist() == [1, None, 3]
        assert pa.array(HostOnly(frame["b"])).to_pylist() == ["x", "y", None]
    assert type(frame).__arrow_c_stream__ is own


def test_device_stream_of_a_frame_stays_on_the_gpu(frame):
    with bridge.install_protocol():
        (batch,) = bridge.to_arrow_device_stream(OnlyStream(frame))
    assert batch.device_type == bridge.DeviceType.CUDA


class OnlyStream:
    """An object that has only the protocol for streams of device memory."""

    def __init__(self, obj):
        self.__arrow_c_device_stream__ = obj.__arrow_c_device_stream__


def test_methods_of_cudf_are_not_replaced_with_a_gpu(frame):
    from cudf_arrow_bridge.frames import host_frames

    assert len(bridge.from_arrow_device(frame.arrow_device)) == 3
    replaced = [vars(owner)[name] for owner, name, _ in host_frames.REPLACEMENTS]
    ours = [replacement for *_, replacement in host_frames.REPLACEMENTS]
    assert not any(found is one for found, one in zip(replaced, ours, strict=True))
