# SPDX-License-Identifier: Apache-2.0
"""Pickles of arrays, and the expected addresses of their buffers.

Other processes import this module to run functions for the tests.
"""

from __future__ import annotations

import pickle

import pyarrow as pa

import cudf_arrow_bridge as cab
from testing.ipc.samples import written
from testing.peers.arrays import DeviceOnly

#: Pickle protocols, and whether buffers are out of band.
PICKLE_OPTIONS = {
    **{f"protocol {protocol}": (protocol, False) for protocol in (2, 5)},
    "out of band": (5, True),
}


def pickle_out_of_band(obj):
    """Return a pickle and its out-of-band buffers."""
    buffers = []
    return pickle.dumps(obj, protocol=5, buffer_callback=buffers.append), buffers


def pickle_round_trip(obj, way="out of band"):
    """Pickle and unpickle an object; return the copy."""
    protocol, is_out_of_band = PICKLE_OPTIONS[way]
    if not is_out_of_band:
        return pickle.loads(pickle.dumps(obj, protocol))
    data, buffers = pickle_out_of_band(obj)
    return pickle.loads(data, buffers=buffers)


def adopted(schema, batches):
    """Return arrays over batches of any type, including types that cuDF lacks."""
    return list(cab.ipc.open_stream(written(schema, batches)))


def batch_in(array):
    """Return a pyarrow record batch over the same memory, validated."""
    return checked(pa.record_batch(DeviceOnly(array)))


def column_in(array):
    """Return a pyarrow array over the same memory, validated."""
    return checked(pa.array(DeviceOnly(array)))


def checked(arrow):
    arrow.validate(full=True)
    return arrow


def places(buffers):
    """Return the addresses and sizes of buffers."""
    found = map(pa.py_buffer, buffers)
    return [(buffer.address, buffer.size) for buffer in found]


def copied(buffers):
    """Return copies of buffers."""
    return [_copy(memoryview(buffer)) for buffer in buffers]


def _copy(view):
    memory = pa.allocate_buffer(view.nbytes)
    memoryview(memory).cast("B")[:] = view.cast("B")
    return memory


def referred(array):
    """Return address and size of the buffers that an array's rows use, in the order of Arrow IPC.

    Dictionaries come first.

    The address is None if the buffer must be computed: masks that do not start at a word of 32
    rows or whose last byte has bits of other rows, and offsets that do not start with 0.
    """
    return referred_of_columns([array])


def referred_of_batch(batch):
    """Return the result of `referred` for all columns, dictionaries first."""
    return referred_of_columns(batch.columns)


def referred_of_columns(columns):
    dictionaries = []
    found = [place for c in columns for place in _referred(c, dictionaries) if place[1]]
    return [*(place for values in dictionaries for place in referred(values)), *found]


def _referred(array, dictionaries):
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    type_, size, begin = array.type, len(array), array.offset
    own = array.buffers()
    if pa.types.is_null(type_):
        return
    if pa.types.is_run_end_encoded(type_):
        yield from _referred(array.run_ends, dictionaries)
        yield from _referred(array.values, dictionaries)
        return
    yield _bits(own[0], begin, size) if array.null_count else (None, 0)
    if pa.types.is_struct(type_):
        for i in range(type_.num_fields):
            yield from _referred(array.field(i), dictionaries)
    elif type_ in (pa.string_view(), pa.binary_view()):
        yield own[1].address + 16 * begin, 16 * size
        yield from ((data.address, data.size) for data in own[2:])
    elif pa.types.is_list_view(type_) or pa.types.is_large_list_view(type_):
        width = 8 if pa.types.is_large_list_view(type_) else 4
        yield from ((part.address + width * begin, width * size) for part in own[1:3])
        yield from _referred(array.values, dictionaries)
    elif pa.types.is_fixed_size_list(type_):
        width = type_.list_size
        yield from _referred(array.values.slice(begin * width, size * width), dictionaries)
    elif (width := _offset_width(type_)) is not None:
        offsets = own[1].slice(begin * width, (size + 1) * width).to_pybytes() if size else bytes(8)
        first, last = (int.from_bytes(end, "little") for end in (offsets[:width], offsets[-width:]))
        yield None if first or not size else own[1].address + begin * width, (size + 1) * width
        if type_.num_fields == 0:
            yield own[2].address + first if last > first else None, last - first
        else:
            yield from _referred(array.values.slice(first, last - first), dictionaries)
    elif pa.types.is_boolean(type_):
        yield _bits(own[1], begin, size)
    else:
        width = array.indices.type if pa.types.is_dictionary(type_) else type_
        width = width.bit_width // 8
        yield own[1].address + width * begin, width * size
        if pa.types.is_dictionary(type_):
            dictionaries.append(array.dictionary)


def _bits(buffer, begin, size):
    is_shared = begin % 32 == 0 and (size % 8 == 0 or buffer[(begin + size) // 8] >> size % 8 == 0)
    return buffer.address + begin // 8 if is_shared else None, (size + 7) // 8


def _offset_width(type_):
    wide = (pa.types.is_large_string, pa.types.is_large_binary, pa.types.is_large_list)
    narrow = (pa.types.is_string, pa.types.is_binary, pa.types.is_list, pa.types.is_map)
    if any(kind(type_) for kind in wide):
        return 8
    return 4 if any(kind(type_) for kind in narrow) else None
