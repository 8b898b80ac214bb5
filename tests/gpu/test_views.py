# SPDX-License-Identifier: Apache-2.0
"""Views, runs and unusual dictionaries, decoded by libcudf on device memory."""

from __future__ import annotations

import pyarrow as pa
import pytest

from testing import samples, views
from testing.device import GPU, pylibcudf_rows, unnamed
from testing.peers.arrays import column_from
from testing.peers.device_memory import OnDevice

pytestmark = GPU

SLICES = [(0, samples.MANY), (1, 64), (8, 40), (9, 65), (33, 0)]


def cases():
    """Yield a name, an array of each layout, and the equal array of a plain layout."""
    for nulls in samples.NULLS:
        text = samples.values(pa.string(), samples.MANY, nulls)
        yield f"string_view-{nulls}", views.string_view(text), text
        for place in views.PLACES:
            for element in (pa.int32(), pa.string(), samples.NESTED[3]):
                lists = samples.as_list(element, samples.MANY, nulls)
                for large in (False, True):
                    view = views.list_view(lists, place, large)
                    yield f"{view.type}-{place}-{nulls}", view, lists
        for type_ in (pa.int32(), pa.bool_(), pa.string(), *samples.NESTED):
            for ends in views.RUN_ENDS:
                runs, expected = views.run_ended(samples.values(type_, samples.MANY, nulls), ends)
                yield f"{runs.type}-{nulls}", runs, expected
        keys = pa.array(["a", None, "bc", None])
        rows = enumerate(samples.mask(samples.MANY, nulls))
        codes = pa.array([None if null else i * 3 % 4 for i, null in rows], pa.uint8())
        yield f"null keys-{nulls}", pa.DictionaryArray.from_arrays(codes, keys), keys.take(codes)


CASES = [pytest.param(array, expected, id=name) for name, array, expected in cases()]


@pytest.mark.parametrize(("array", "expected"), CASES)
def test_import_decodes_views_and_runs_of_host_memory(array, expected):
    for offset, size in SLICES:
        column = column_from(array.slice(offset, size))
        assert pylibcudf_rows(column) == unnamed(expected.slice(offset, size).to_pylist())


@pytest.mark.parametrize("validate", ["minimal", "full"])
@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize(("array", "expected"), CASES[:: len(CASES) // 30])
def test_import_decodes_views_and_runs_of_device_memory(array, expected, copy, validate):
    pytest.importorskip("cupy")
    column = column_from(OnDevice(array), copy=copy, validate=validate)
    assert pylibcudf_rows(column) == unnamed(expected.to_pylist())


def test_import_rejects_a_null_column_below_a_list_view():
    """libcudf cannot gather a null column. Views in host memory are gathered on the host."""
    pytest.importorskip("cupy")
    lists = samples.as_list(pa.null(), 9, "none")
    with pytest.raises(TypeError, match="expected no column of the null type"):
        column_from(OnDevice(views.list_view(samples.as_list(lists.type, 9, "none"))))
