# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
import textwrap

import cudf
import pytest

from cudf_arrow_bridge import accessors
from testing.host_frames import frame, index, multi, numbers, series

METHOD = "__arrow_c_device_array__"


class Exported:
    schema = "the schema"

    def __init__(self, obj, options):
        self.obj, self.options = obj, options

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        return self, requested_schema, kwargs

    def __arrow_c_schema__(self):
        return "a capsule"


@pytest.fixture(autouse=True)
def exporter(monkeypatch):
    accessors.register_when_imported()
    monkeypatch.setattr(accessors, "to_arrow_device", lambda obj, **options: Exported(obj, options))


OBJECTS = [
    frame({"a": numbers()}),
    series(numbers()),
    index(numbers()),
    multi([numbers(), numbers()], ["a", "b"]),
    cudf.RangeIndex(3),
]


@pytest.mark.parametrize("obj", OBJECTS, ids=lambda obj: type(obj).__name__)
def test_every_cudf_object_has_the_accessor(obj):
    assert "arrow_device" in dir(obj)
    found = obj.arrow_device.export(stream="s", preserve_index=True)
    assert found.obj is obj
    assert found.options == {"stream": "s", "requested_schema": None, "preserve_index": True}
    assert type(obj).__name__ in repr(obj.arrow_device)


def test_the_accessor_speaks_the_protocol():
    obj = OBJECTS[0]
    found, requested, kwargs = obj.arrow_device.__arrow_c_device_array__("schema", later=None)
    assert (found.obj, requested, kwargs) == (obj, "schema", {"later": None})


def test_only_the_schema_of_a_range_index_takes_an_export():
    for obj in OBJECTS:
        is_exported = isinstance(obj, cudf.RangeIndex)
        assert (obj.arrow_device.schema == "the schema") == is_exported
        assert (obj.arrow_device.__arrow_c_schema__() == "a capsule") == is_exported


def test_registering_again_changes_nothing():
    before = cudf.Series.__dict__["arrow_device"]
    accessors.register_when_imported()
    assert cudf.Series.__dict__["arrow_device"] is before


def test_install_protocol_is_taken_back_at_the_end():
    assert not any(hasattr(obj, METHOD) for obj in OBJECTS)
    with accessors.install_protocol():
        for obj in OBJECTS:
            found, requested, kwargs = obj.__arrow_c_device_array__("schema", later=1)
            assert (found.obj, requested, kwargs) == (obj, "schema", {"later": 1})
        with accessors.install_protocol():
            pass
        assert hasattr(cudf.Series, METHOD), "the inner one added nothing, so it takes nothing"
    assert not any(hasattr(obj, METHOD) for obj in OBJECTS)


def test_install_protocol_for_good():
    accessors.install_protocol()
    accessors.install_protocol()
    assert hasattr(cudf.Index, METHOD)
    accessors.uninstall_protocol()
    accessors.uninstall_protocol()
    assert not any(hasattr(obj, METHOD) for obj in OBJECTS)


def test_a_method_of_cudfs_own_stays(monkeypatch):
    own = lambda self, **kwargs: "own"  # noqa: E731
    monkeypatch.setattr(cudf.Series, METHOD, own, raising=False)
    with accessors.install_protocol():
        assert vars(cudf.Series)[METHOD] is own
        assert hasattr(cudf.DataFrame, METHOD)
    assert vars(cudf.Series)[METHOD] is own


def run(code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_accessor_waits_for_cudf_and_does_not_import_it():
    done = run(
        """
        import importlib.util, sys
        from cudf_arrow_bridge.accessors import register_when_imported
        register_when_imported()
        register_when_imported()
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


def test_the_accessor_when_cudf_came_first():
    done = run(
        """
        import cudf
        from cudf_arrow_bridge.accessors import register_when_imported
        register_when_imported()
        assert cudf.DataFrame.arrow_device
        """
    )
    assert done.returncode == 0, done.stderr


def test_no_cudf_at_all():
    done = run(
        """
        import sys
        from cudf_arrow_bridge.accessors import register_when_imported
        register_when_imported()
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
