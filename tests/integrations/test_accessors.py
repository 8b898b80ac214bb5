# SPDX-License-Identifier: Apache-2.0
"""Test the accessor of cuDF's classes, and its registration."""

import inspect
import subprocess
import sys
import textwrap

import cudf
import polars as pl
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.integrations import accessors, registration
from testing.host_frames import frame, index, multi, numbers, series
from testing.peers.arrays import HostOnly


class Exported:
    """Stands for an array or a stream; each method returns the object and its arguments."""

    schema = "the schema"

    def __init__(self, obj, options):
        self.obj, self.options = obj, options

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        return self, requested_schema, kwargs

    def __arrow_c_schema__(self):
        return "a capsule"

    __arrow_c_array__ = __arrow_c_stream__ = __arrow_c_device_stream__ = __arrow_c_device_array__


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


@pytest.mark.parametrize("kind", ["array", "stream"])
def test_accessor_passes_the_arguments_of_the_protocols(kind, exporter):
    obj = OBJECTS[0]
    accessor = obj.arrow_device
    device_method = getattr(accessor, f"__arrow_c_device_{kind}__")
    found, requested, kwargs = device_method("schema", later=None)
    assert (found.obj, requested, kwargs) == (obj, "schema", {"later": None})
    # The stream does not depend on the calling thread.
    assert found.options == {"stream": accessors.cudf_handle_of_all_threads()}
    found, requested, kwargs = getattr(accessor, f"__arrow_c_{kind}__")("schema")
    assert (found.obj, requested, kwargs) == (obj, "schema", {})
    assert found.options == {"stream": accessors.cudf_handle_of_all_threads()}


def test_only_the_schema_of_a_range_index_exports_data(exporter):
    for obj in OBJECTS:
        is_exported = isinstance(obj, cudf.RangeIndex)
        assert (obj.arrow_device.schema == "the schema") == is_exported
        assert (obj.arrow_device.__arrow_c_schema__() == "a capsule") == is_exported


def test_second_registration_keeps_the_accessor_and_registers_with_loaded_modules():
    is_device_object = pytest.importorskip("dask_cuda.is_device_object").is_device_object
    before = cudf.Series.__dict__["arrow_device"]
    registration.register_all()
    assert cudf.Series.__dict__["arrow_device"] is before
    assert is_device_object(cab.to_arrow_device(numbers().plc_column)) == cab.has_gpu()


def test_schema_equals_that_of_an_export():
    for obj in OBJECTS:
        schema = obj.arrow_device.schema
        assert schema.equals(cab.to_arrow_device(obj).schema, check_metadata=True)
        capsule = pa.schema if isinstance(schema, pa.Schema) else pa.field
        assert capsule(obj.arrow_device).equals(schema, check_metadata=True)


@pytest.mark.parametrize(
    ("name", "function"),
    [("export", cab.to_arrow_device), ("export_stream", cab.to_arrow_device_stream)],
)
def test_export_methods_have_the_signatures_of_the_functions(name, function):
    signature = inspect.signature(getattr(OBJECTS[0].arrow_device, name))
    (_, *keywords) = inspect.signature(function).parameters.values()
    assert list(signature.parameters.values()) == keywords
    assert signature.return_annotation == inspect.signature(function).return_annotation
    unbound = inspect.signature(getattr(accessors.ArrowDeviceAccessor, name))
    assert next(iter(unbound.parameters)) == "self"


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
    assert pa.record_batch(HostOnly(obj.arrow_device)).to_pydict() == expected
    assert pl.DataFrame(obj.arrow_device).to_dict(as_series=False) == expected
    assert pa.chunked_array(obj["a"].arrow_device).to_pylist() == expected["a"]


IMPORTED_LATER = """
    import importlib.util, os, sys
    del os.environ["RAPIDS_NO_INITIALIZE"]
    environment = dict(os.environ)
    from cudf_arrow_bridge.integrations.registration import register_all
    register_all()
    register_all()
    assert "cudf" not in sys.modules and "pandas" not in sys.modules
    import pyarrow as pa
    import cudf_arrow_bridge as cab
    cab.has_gpu()
    cab.from_arrow_device(pa.array([1]), to="pylibcudf")
    assert importlib.util.find_spec("cudf") is not None
    assert "cudf" not in sys.modules
    before = list(sys.meta_path)
    cab.from_arrow_device(pa.record_batch({"a": [1]}))
    cudf = sys.modules["cudf"]
    assert "arrow_device" in dir(cudf.Series) and cudf.Index.arrow_device
    assert len(sys.meta_path) == len(before) - 1
    assert cudf.__spec__.loader.get_filename() == cudf.__file__
    # Child processes inherit the variables, which can change how they use RAPIDS.
    assert os.environ == environment, set(os.environ.items()) ^ set(environment.items())
"""
MISSING = """
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


def run(code):
    subprocess.run([sys.executable, "-W", "error", "-c", textwrap.dedent(code)], check=True)


def test_first_import_to_cudf_registers_the_accessor_and_keeps_the_environment():
    run(IMPORTED_LATER)


def test_import_of_a_missing_cudf_fails_after_a_registration():
    run(MISSING)
