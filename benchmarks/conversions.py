# SPDX-License-Identifier: Apache-2.0
"""The cost of conversions in host memory, against the same conversions in numpy and pyarrow.

Our times are for whole imports and exports. Those of the peers are for kernels on their own data.
All allocate the memory of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import cudf_arrow_bridge

from . import peers
from .exchanges import OURS, to_pylibcudf
from .measure import Case, Contestant

NUMPY = "numpy"
_RUN = 10  # rows
_DISTINCT = 1000
_DAY = 86_400


def _numpy(call: Callable[[], Any]) -> Contestant:
    return Contestant(NUMPY, call)


def _pyarrow(call: Callable[[], Any]) -> Contestant:
    return Contestant(peers.PYARROW, call)


def _case(name: str, ours: Callable[[], Any], *others: Contestant) -> Case:
    return Case("conversion", name, (Contestant(OURS, ours), *others), converts=True)


def _import(name: str, array: pa.Array, *others: Contestant) -> Case:
    return _case(name, lambda: to_pylibcudf(array), *others)


def _export(
    name: str, array: pa.Array, requested: pa.DataType | None, *others: Contestant, **options: Any
) -> Case:
    column = to_pylibcudf(array)
    schema = None if requested is None else pa.field("", requested)

    def ours() -> Any:
        return cudf_arrow_bridge.to_arrow_device(column, requested_schema=schema, **options)

    return _case(name, ours, *others)


def _integers(rows: int, most: int, type_: pa.DataType) -> pa.Array:
    return pa.array(np.random.default_rng(0).integers(0, most, rows)).cast(type_)


def _nulls(rows: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).random(rows) < 0.1


def _texts(rows: int, distinct: int) -> pa.Array:
    words = pa.array([f"value {i}, whose view has a reference" for i in range(distinct)])
    return words.take(pa.array(np.random.default_rng(0).integers(0, distinct, rows)))


def _bits(rows: int) -> Iterator[Case]:
    bools = np.random.default_rng(0).random(rows) < 0.5
    array, packed = pa.array(bools), np.packbits(bools, bitorder="little")
    unpack = _numpy(lambda: np.unpackbits(packed, bitorder="little"))
    yield _import("bools in", array, unpack)
    yield _import("bools in, inside a byte", array[3:], unpack)
    yield _export("bools out", array, None, _numpy(lambda: np.packbits(bools, bitorder="little")))
    nullable = pa.array(np.arange(rows, dtype="int8"), mask=_nulls(rows))[3:]
    kernel = _pyarrow(lambda: pc.is_valid(nullable))
    yield _export("masks shifted", nullable, None, kernel, compact=True)


def _runs(rows: int) -> Iterator[Case]:
    count = rows // _RUN
    ends = pa.array(np.arange(1, count + 1, dtype="int32") * np.int32(_RUN))
    for name, mask in (("run ends in", None), ("run ends with nulls in", _nulls(count))):
        values = pa.array(np.arange(count), mask=mask)
        array = pa.RunEndEncodedArray.from_arrays(ends, values)
        yield _import(name, array, _pyarrow(lambda array=array: pc.run_end_decode(array)))


def _dictionaries(rows: int) -> Iterator[Case]:
    for name, array in (
        ("strings", _texts(rows // 10, _DISTINCT)),
        ("strings, all distinct", _texts(rows // 10, rows // 10)),
        ("int64", _integers(rows // 10, _DISTINCT, pa.int64())),
    ):
        encode = _pyarrow(lambda array=array: array.dictionary_encode())
        yield _export(f"dictionary of {name}", array, pa.dictionary(pa.int32(), array.type), encode)
        dictionary = array.dictionary_encode()
        decode = _pyarrow(lambda dictionary=dictionary: dictionary.dictionary_decode())
        yield _export(f"categories of {name} out", dictionary, array.type, decode)


def _views(rows: int) -> Iterator[Case]:
    for name, array in (
        ("short strings", pa.array([str(i) for i in range(rows // 10)])),
        ("long strings", _texts(rows // 10, _DISTINCT)),
    ):
        # Not a cast, whose short views pyarrow cannot export before version 25.
        views = pa.array(array.to_pylist(), pa.string_view())
        back = _pyarrow(lambda views=views: views.cast(pa.string()))
        yield _import(f"views of {name} in", views, back)
        there = _pyarrow(lambda array=array: array.cast(pa.string_view()))
        yield _export(f"views of {name} out", array, pa.string_view(), there)


def _numbers(rows: int) -> Iterator[Case]:
    halves = np.random.default_rng(0).random(rows).astype("float16")
    widen = _numpy(lambda: halves.astype("float32"))
    array = pa.array(halves)
    yield _import("half floats in", array, widen, _pyarrow(lambda: array.cast(pa.float32())))

    narrow = _integers(rows, _DAY, pa.int32())
    wide = narrow.cast(pa.int64())
    here, there = np.asarray(narrow), np.asarray(wide)
    yield _import("time32 in", narrow.view(pa.time32("s")), _numpy(lambda: here.astype("int64")))
    yield _export(
        "time32 out",
        wide.view(pa.duration("s")),
        pa.time32("s"),
        # The export also checks the range, as pyarrow's cast does.
        _numpy(lambda: (there.min(), there.max(), there.astype("int32"))),
        _pyarrow(lambda: wide.cast(pa.int32())),
    )

    days = _integers(rows, 20_000, pa.int32()).view(pa.date32())
    yield _export("date32 as date64", days, pa.date64(), _pyarrow(lambda: days.cast(pa.date64())))
    ticks = days.cast(pa.timestamp("ms"))
    yield _export(
        "timestamps as date32", ticks, pa.date32(), _pyarrow(lambda: ticks.cast(pa.date32()))
    )
    for bits, more in (
        (pa.decimal64(18), pa.decimal128(38)),
        (pa.decimal128(38), pa.decimal64(18)),
    ):
        numbers = wide.cast(pa.decimal128(38)).cast(bits)
        cast = _pyarrow(lambda numbers=numbers, more=more: numbers.cast(more))
        yield _export(f"{bits} as {more}", numbers, more, cast)


def _lists(rows: int) -> Iterator[Case]:
    offsets = np.arange(rows + 1)
    large = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(np.zeros(rows, "int8")))
    yield _import("large lists in", large, _numpy(lambda: offsets.astype("int32")))
    pairs = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(2 * rows, "int8")), 2)
    cast = _pyarrow(lambda: pairs.cast(pa.list_(pa.int8())))
    yield _import("fixed_size lists in", pairs, cast)


def cases(rows: int) -> Iterator[Case]:
    """Yield all cases. The data of a case is created when the case is requested.

    Parameters
    ----------
    rows
        The number of rows. Columns of strings and dictionaries have a tenth of it.
    """
    for some in (_bits, _runs, _dictionaries, _views, _numbers, _lists):
        yield from some(rows)
