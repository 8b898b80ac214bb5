# SPDX-License-Identifier: Apache-2.0
"""Producers and consumers of arrays: objects with one protocol, C structs, counted releases."""

from __future__ import annotations

import ctypes
import gc
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_void_p

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab


class ArrowSchema(ctypes.Structure):
    pass


class ArrowArray(ctypes.Structure):
    pass


ArrowSchema._fields_ = [
    ("format", c_char_p),
    ("name", c_char_p),
    ("metadata", c_void_p),
    ("flags", c_int64),
    ("n_children", c_int64),
    ("children", POINTER(POINTER(ArrowSchema))),
    ("dictionary", POINTER(ArrowSchema)),
    ("release", c_void_p),
    ("private_data", c_void_p),
]
ArrowArray._fields_ = [
    ("length", c_int64),
    ("null_count", c_int64),
    ("offset", c_int64),
    ("n_buffers", c_int64),
    ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)),
    ("children", POINTER(POINTER(ArrowArray))),
    ("dictionary", POINTER(ArrowArray)),
    ("release", c_void_p),
    ("private_data", c_void_p),
]


class ArrowDeviceArray(ctypes.Structure):
    _fields_ = (
        ("array", ArrowArray),
        ("device_id", c_int64),
        ("device_type", c_int32),
        ("sync_event", c_void_p),
        ("reserved", c_int64 * 3),
    )


RELEASE = ctypes.CFUNCTYPE(None, c_void_p)
_STRUCTS = {
    b"arrow_schema": ArrowSchema,
    b"arrow_array": ArrowArray,
    b"arrow_device_array": ArrowDeviceArray,
}
_get_name = ctypes.pythonapi.PyCapsule_GetName
_get_name.argtypes, _get_name.restype = [ctypes.py_object], c_char_p
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.argtypes, _get_pointer.restype = [ctypes.py_object, c_char_p], c_void_p
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.argtypes, _new_capsule.restype = [c_void_p, c_char_p, c_void_p], ctypes.py_object


def name_of(capsule):
    return _get_name(capsule)


def struct_of(capsule):
    """Return the C struct in a capsule, in place. It is valid as long as the capsule."""
    name = _get_name(capsule)
    return _STRUCTS[name].from_address(_get_pointer(capsule, name))


def misnamed(capsule, name):
    """Return a capsule of the same struct with another name and without a destructor."""
    return _new_capsule(_get_pointer(capsule, _get_name(capsule)), name, None)


def nodes(struct):
    """Return the struct of a schema or an array and all of its descendants, depth first."""
    found = [struct]
    for i in range(struct.n_children):
        found += nodes(struct.children[i].contents)
    if struct.dictionary:
        found += nodes(struct.dictionary.contents)
    return found


class Only:
    """An object of which a subclass exposes one protocol."""

    def __init__(self, obj):
        self._obj = obj


class DeviceOnly(Only):
    """Exposes only the device protocol of an object."""

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        return self._obj.__arrow_c_device_array__(requested_schema, **kwargs)


class HostOnly(Only):
    """Exposes only the host protocol of an object."""

    def __arrow_c_array__(self, requested_schema=None):
        return self._obj.__arrow_c_array__(requested_schema)


class SchemaOnly(Only):
    """Exposes only the schema of an object."""

    def __arrow_c_schema__(self):
        return self._obj.__arrow_c_schema__()


class Capsules:
    """Returns the given capsules unchanged."""

    def __init__(self, schema, array):
        self._pair = schema, array

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        return self._pair


class Producer:
    """Exports an object of pyarrow. Tests can edit its structs, and releases are counted.

    Parameters
    ----------
    obj
        An object of pyarrow with the device protocol.
    edit
        Called with the `ArrowSchema` and the `ArrowDeviceArray` before they are exported. Its
        changes are undone before pyarrow's release callback runs. Its result, such as the owner of
        other buffers, is kept until the release of the array.
    """

    alive = set()  # noqa: RUF012 -- C code may call back after the last Python reference is gone

    def __init__(self, obj, edit=None):
        self.schema_capsule, self.array_capsule = obj.__arrow_c_device_array__()
        schema, array = struct_of(self.schema_capsule), struct_of(self.array_capsule)
        self.releases, self.schema_releases = 0, 0
        restore_schema, restore_array = _snapshot(schema), _snapshot(array.array)
        self._kept = None if edit is None else edit(schema, array)

        @RELEASE
        def release_schema(address):
            self.schema_releases += 1
            restore_schema(address)
            self._done()

        @RELEASE
        def release_array(address):
            self.releases += 1
            restore_array(address)
            self._kept = None
            self._done()

        self._callbacks = release_schema, release_array
        schema.release = ctypes.cast(release_schema, c_void_p).value
        array.array.release = ctypes.cast(release_array, c_void_p).value
        Producer.alive.add(self)

    def _done(self):
        if self.releases and self.schema_releases:
            Producer.alive.discard(self)

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        pair = self.schema_capsule, self.array_capsule
        self.drop()
        return pair

    def drop(self):
        self.schema_capsule = self.array_capsule = None


def _snapshot(struct):
    """Return a function that restores a tree of structs to its current state and releases it."""
    tree = nodes(struct)
    places = [ctypes.addressof(node) for node in tree[1:]]
    kept = [(place, bytes(node)) for place, node in zip(places, tree[1:], strict=True)]
    for node in tree:
        for pointers, size in ((node.children, node.n_children), _buffers(node)):
            if size:
                place = ctypes.addressof(pointers.contents)
                kept.append((place, ctypes.string_at(place, size * ctypes.sizeof(c_void_p))))
    # pylibcudf's callback needs the GIL, which `PYFUNCTYPE` keeps.
    root, release = bytes(struct), ctypes.PYFUNCTYPE(None, c_void_p)(struct.release)

    def restore(address):
        for place, content in [*kept, (address, root)]:
            ctypes.memmove(place, content, len(content))
        release(address)

    return restore


def _buffers(node):
    return (node.buffers, node.n_buffers) if isinstance(node, ArrowArray) else (None, 0)


def forget_null_counts(schema, array):
    """Set all null counts to -1, which means unknown. An edit of `Producer`."""
    for node in nodes(array.array):
        if node.n_buffers:
            node.null_count = -1


def column_from(obj, **options):
    """Import a pylibcudf column through the device protocol only."""
    return cab.from_arrow_device(DeviceOnly(obj), to="pylibcudf", kind="column", **options)


def read(obj):
    """Import an array with pyarrow through the device protocol only, and validate it."""
    result = pa.array(DeviceOnly(obj))
    result.validate(full=True)
    return result


def assert_same(found, expected):
    """Check that arrays have equal values and types, including names and metadata."""
    assert found.type.equals(expected.type, check_metadata=True), (found.type, expected.type)
    found.validate(full=True)
    assert found.equals(expected), (found, expected)


def refused(error, producer, **options):
    """Check that an import fails; return the message. The error and its references are freed."""
    options = {"to": "pylibcudf", "kind": "column"} | options
    try:
        cab.from_arrow_device(producer, **options)
    except error as found:
        message = str(found)
    else:
        pytest.fail(f"{error.__name__} expected")
    gc.collect()
    return message
