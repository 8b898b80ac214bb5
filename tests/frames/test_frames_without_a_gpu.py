# SPDX-License-Identifier: Apache-2.0
"""Frames without a GPU: when they are enabled, errors of computations, and pickles.

`test_host_frames` tests how they are printed, converted and sliced.
"""

import pickle

import cudf
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge._load import build_info
from cudf_arrow_bridge.frames import cudf_private as private
from testing.ends import ends_of

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")


@pytest.mark.parametrize(
    "compute",
    [
        lambda frame: frame["int"] + 1,
        lambda frame: frame["float"].astype("int64"),
        lambda frame: frame.sort_values("int"),
        lambda frame: cudf.concat([frame, frame]),
        lambda frame: frame["text"].str.upper(),
        lambda frame: frame[["int"]].values,
        lambda frame: frame["int"].to_cupy(),
        lambda frame: frame["int"].values,
        lambda frame: frame["null"].values,
        lambda frame: frame.index.values,
    ],
)
@pytest.mark.skipif(
    build_info.LIBCUDF_VERSION.startswith("26.08"), reason="rmm 26.08 raises most of these errors"
)
def test_computation_without_a_gpu_raises_an_error_with_a_note(compute):
    table = pa.table({"int": [2, 1], "float": [0.5, 1.5], "text": ["x", "y"], "null": [1, None]})
    frame = cab.from_arrow_device(table)
    with pytest.raises(RuntimeError) as raised:
        compute(frame)
    (note,) = raised.value.__notes__
    assert note.startswith("There is no GPU here")
    assert "df.to_pandas()" in note


#: The GPU is simulated at first: `has_gpu` returns True.
SIMULATED = """
from cudf_arrow_bridge.cuda import residency

residency.has_gpu = lambda: True
from cudf_arrow_bridge.frames import host_frames

def are_replaced():
    # A KeyError means that this release of cuDF lacks the attribute.
    return [vars(owner)[name] is new for owner, name, new in host_frames.REPLACEMENTS]

frame = cab.from_arrow_device(pa.table({"a": [1, 2]}))
assert frame.shape == (2, 1)
assert not any(are_replaced())
residency.has_gpu = host_frames.has_gpu = lambda: False
host_frames.enable_host_frames()
assert all(are_replaced())
"""
#: cuDF's spill manager needs a driver.
SPILLING = """
import logging
cudf.set_option("spill", True)
logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s %(message)s")
cab.to_arrow_device(cudf.RangeIndex(2))
frame = cab.from_arrow_device(pa.table({"a": [1, 2], "b": ["x", None]}))
assert frame.copy()[1:].to_arrow().to_pylist() == [{"a": 2, "b": None}]
exported = cab.to_arrow_device(frame)  # alive at exit, which prints nothing
"""


@pytest.fixture(scope="module")
def ends():
    """Return the exit status and the output of processes that have made no frame before."""
    codes = {"simulated": SIMULATED, "spilling": SPILLING}
    return ends_of("import cudf, cudf_arrow_bridge as cab, pyarrow as pa", codes)


def test_host_frames_replace_attributes_of_cudf_only_without_a_gpu(ends):
    status, output = ends["simulated"]
    assert status == 0, output


def test_first_frame_without_a_gpu_is_logged_once_and_made_although_spilling_is_on(ends):
    status, output = ends["spilling"]
    assert status == 0, output
    (line,) = output.splitlines()
    assert line.startswith("cudf_arrow_bridge INFO there is no GPU: frames are in host memory")


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_frames_and_series_are_unchanged_by_pickling(protocol):
    table = pa.table({"a": [1, None, 3], "b": ["x", "y", None], "c": [[1], None, []]})
    frame = cab.from_arrow_device(table)
    again = pickle.loads(pickle.dumps(frame, protocol))
    assert isinstance(again, cudf.DataFrame)
    assert again.to_arrow().equals(frame.to_arrow())
    series = pickle.loads(pickle.dumps(frame["b"], protocol))
    assert isinstance(series, cudf.Series)
    assert series.name == "b"
    assert series.to_arrow().equals(frame["b"].to_arrow())


def test_pickling_an_index_without_a_gpu_raises_an_error_with_a_note():
    column = cab.from_arrow_device(pa.array(["x"]))
    index = private.make_index(private.columns_of(column), ["i"])
    with pytest.raises(Exception, match="driver") as caught:
        pickle.dumps(index)
    assert "There is no GPU here" in caught.value.__notes__[0]
