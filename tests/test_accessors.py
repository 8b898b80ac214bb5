# SPDX-License-Identifier: Apache-2.0
import inspect
import subprocess
import sys
import textwrap

import cudf
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
from cudf_arrow_bridge.integrations import accessors, registration
from testing.host_frames import frame, index, multi, numbers, series


class Exported:
    schema = "the schema"

    def __init__(self, obj, options):
        self.obj, self.options = obj, options

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        return self, requested_schema, kwargs

    def __arrow_c_device_stream__(self, requested_schema=None, **kwargs):
        return self, requested_schema, kwargs

    def __arrow_c_schema__(self):
        return "a capsule"

    def __arrow_c_array__(self, requested_schema=None):
        return self, requested_schema

    __arrow_c_stream__ = __arrow_c_array__


@pytest.fixture
def exporter(monkeypatch):
    for name in ("to_arrow_device", "to_arrow_device_stream"):
        monkeypatch.setattr(accessors, name, lambda obj, **options: Exported(obj, options))


OBJECTS = [
    frame({"a": numbers()}),
    series(numbers()),
    index(numbers()),
    multi([numbers(), numbers()], ["a", "b"]),
    cudf.RangeIndex(3),
]


@pytest.mark.parametrize("obj", OBJECTS, ids=lambda obj: type(obj).__name__)
def test_every_cudf_object_has_the_accessor(obj, exporter):
    assert "arrow_device" in dir(obj)
    for export in (obj.arrow_device.export, obj.arrow_device.export_stream):
        found = export(stream="s", preserve_index=True)
        assert found.obj is obj
        assert found.options == {"stream": "s", "preserve_index": True}
    assert type(obj).__name__ in repr(obj.arrow_device)


@pytest.mark.parametrize("method", ["__arrow_c_device_array__", "__arrow_c_device_stream__"])
def test_accessor_supports_the_device_protocols(method, exporter):
    obj = OBJECTS[0]
    found, requested, kwargs = getattr(obj.arrow_device, method)("schema", later=None)
    assert (found.obj, requested, kwargs) == (obj, "schema", {"later": None})
    # The stream does not depend on the calling thread.
    assert found.options == {"stream": accessors.cudf_handle_of_all_threads()}


def test_only_the_schema_of_a_range_index_exports_data(exporter):
    for obj in OBJECTS:
        is_exported = isinstance(obj, cudf.RangeIndex)
        assert (obj.arrow_device.schema == "the schema") == is_exported
        assert (obj.arrow_device.__arrow_c_schema__() == "a capsule") == is_exported


@pytest.mark.parametrize("method", ["__arrow_c_array__", "__arrow_c_stream__"])
def test_accessor_supports_the_host_protocols(method, exporter):
    found, requested = getattr(OBJECTS[0].arrow_device, method)("schema")
    assert (found.obj, requested) == (OBJECTS[0], "schema")
    assert found.options == {"stream": accessors.cudf_handle_of_all_threads()}


@pytest.mark.parametrize(
    ("name", "function"),
    [("export", bridge.to_arrow_device), ("export_stream", bridge.to_arrow_device_stream)],
)
def test_export_methods_have_the_signatures_of_the_functions(name, function):
    signature = inspect.signature(getattr(OBJECTS[0].arrow_device, name))
    (_, *keywords) = inspect.signature(function).parameters.values()
    assert list(signature.parameters.values()) == keywords
    assert signature.return_annotation == inspect.signature(function).return_annotation
    unbound = inspect.signature(getattr(accessors.ArrowDeviceAccessor, name))
    assert next(iter(unbound.parameters)) == "self"


def test_export_methods_reject_unknown_keywords():
    with pytest.raises(TypeError, match="max_row"):
        OBJECTS[0].arrow_device.export_stream(max_row=2)


def test_export_methods_apply_their_options():
    obj = frame({"a": numbers(5)}, index=index(numbers(5, 7), "rows"))
    array = obj.arrow_device.export(preserve_index=False)
    assert pa.record_batch(array).to_pydict() == {"a": [0, 1, 2, 3, 4]}
    batches = list(obj.arrow_device.export_stream(max_rows=2, preserve_index=True))
    assert [len(batch) for batch in batches] == [2, 2, 1]
    assert pa.record_batch(batches[1]).to_pydict() == {"a": [2, 3], "rows": [9, 10]}


def test_consumers_of_the_host_protocols_read_the_accessor():
    obj = frame({"a": numbers()})
    expected = {"a": [0, 1, 2]}
    assert pa.table(obj.arrow_device).to_pydict() == expected
    assert pa.RecordBatchReader.from_stream(obj.arrow_device).read_all().to_pydict() == expected
    assert pa.record_batch(OnlyArray(obj.arrow_device)).to_pydict() == expected
    assert pl.DataFrame(obj.arrow_device).to_dict(as_series=False) == expected
    assert pd.DataFrame.from_arrow(obj.arrow_device).to_dict("list") == expected
    assert pa.chunked_array(obj["a"].arrow_device).to_pylist() == expected["a"]


class OnlyArray:
    """An object with only `__arrow_c_array__`."""

    def __init__(self, obj):
        self.__arrow_c_array__ = obj.__arrow_c_array__


def test_second_registration_changes_nothing():
    before = cudf.Series.__dict__["arrow_device"]
    registration.register_all()
    assert cudf.Series.__dict__["arrow_device"] is before


def run(code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_accessor_is_registered_when_cudf_is_imported_later():
    done = run(
        """
        import importlib.util, sys
        from cudf_arrow_bridge.integrations.registration import register_all
        register_all()
        register_all()
        assert "cudf" not in sys.modules and "pandas" not in sys.modules
        assert importlib.util.find_spec("cudf") is not None
        assert "cudf" not in sys.modules
        before = list(sys.meta_path)
        import cudf
        assert "arrow_device" in dir(cudf.Series) and cudf.Index.arrow_device
        assert len(sys.meta_path) == len(before) - 1
        assert cudf.__spec__.loader.get_filename() == cudf.__file__
        """
    )
    assert done.returncode == 0, done.stderr


def test_accessor_is_registered_when_cudf_is_already_imported():
    done = run(
        """
        import cudf
        from cudf_arrow_bridge.integrations.registration import register_all
        register_all()
        assert cudf.DataFrame.arrow_device
        """
    )
    assert done.returncode == 0, done.stderr


def test_registration_keeps_the_import_error_of_a_missing_cudf():
    done = run(
        """
        import sys
        from cudf_arrow_bridge.integrations.registration import register_all
        register_all()
        sys.meta_path[1:] = []
        try:
            import cudf
        except ModuleNotFoundError as error:
            assert error.name == "cudf"
        else:
            raise SystemExit(1)
        """
    )
    assert done.returncode == 0, done.stderr
