# SPDX-License-Identifier: Apache-2.0
"""Both commands report the same support of each type, and buffer addresses agree with it."""

from __future__ import annotations

import json
from decimal import Decimal

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.__main__ import main
from cudf_arrow_bridge._core.schema import type_rows
from cudf_arrow_bridge.arrow.types import CODES_WIDTH, REPEATED_CATEGORIES
from testing.shared_memory import memory_of_cudf, parts_of_arrow, stored_inside

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="addresses of the CPU's memory are compared")

STRUCT = pa.struct([("a", pa.int8())])
#: Values of each Arrow type of the type table, by its name in the table.
VALUES = {
    "bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1, None], pa.int8())),
    "null": pa.nulls(3),
    "halffloat": pa.array([1.0, 2.0], pa.float32()).cast(pa.float16()),
    "decimal32": pa.array([Decimal("1.5")], pa.decimal32(9, 2)),
    "decimal64": pa.array([Decimal("1.5")], pa.decimal64(18, 2)),
    "decimal128": pa.array([Decimal("1.5")], pa.decimal128(38, 2)),
    "decimal256": pa.array([Decimal("1.5")], pa.decimal256(50, 2)),
    "list": pa.array([[1], [2, 3]], pa.list_(pa.int8())),
    "large_list": pa.array([[1], [2, 3]], pa.large_list(pa.int8())),
    "list_view": pa.array([[1], [2, 3]], pa.list_view(pa.int8())),
    "large_list_view": pa.array([[1], [2, 3]], pa.large_list_view(pa.int8())),
    "fixed_size_list": pa.array([[1, 2], [2, 3]], pa.list_(pa.int8(), 2)),
    "map": pa.array([[("x", 1)], []], pa.map_(pa.string(), pa.int8())),
    "struct": pa.array([{"a": 1}, {"a": 2}], STRUCT),
    "dictionary": pa.array(["x", "y"]).dictionary_encode(),
    "run_end_encoded": pa.RunEndEncodedArray.from_arrays([2, 3], ["x", "y"]),
    "fixed_size_binary": pa.array([b"ab", b"cd"], pa.binary(2)),
    "month_day_nano_interval": pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
    "sparse_union": pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])]),
    "dense_union": pa.UnionArray.from_dense(
        pa.array([0, 0], pa.int8()), pa.array([0, 1], pa.int32()), [pa.array([1, 2])]
    ),
}
#: Types that pyarrow lacks.
UNKNOWN_TO_PYARROW = {"month_interval", "day_time_interval"}
ALIASES = {"bool": pa.bool_(), "float": pa.float32(), "double": pa.float64()}


def values_of(name):
    if name in VALUES:
        return VALUES[name]
    type_ = ALIASES[name] if name in ALIASES else pa.type_for_alias(name)
    if pa.types.is_boolean(type_):
        return pa.array([True, None, False])
    if type_ in (pa.string(), pa.large_string(), pa.string_view()):
        return pa.array(["x", "a longer one than views hold", None], type_)
    if type_ in (pa.binary(), pa.large_binary(), pa.binary_view()):
        return pa.array([b"x", b"a longer one than views hold", None], type_)
    return (
        pa.array([1, 2, None], pa.int64())
        .cast(pa.int32() if type_.bit_width < 64 else pa.int64(), safe=False)
        .cast(type_)
    )


NAMES = sorted({row["arrow"] for row in type_rows()} - UNKNOWN_TO_PYARROW)
TYPED = {name: values_of(name) for name in NAMES} | {
    f"dictionary of {type_}": pa.DictionaryArray.from_arrays(pa.array([0, 1], type_), ["x", "y"])
    for type_ in (pa.int8(), pa.uint8(), pa.int16(), pa.uint32(), pa.int64(), pa.uint64())
}
TYPED["dictionary of decimals"] = pa.array([Decimal(1), Decimal(2)]).dictionary_encode()
TYPED["list of bools"] = pa.array([[True], []])
TYPED["struct with a date"] = pa.array([{"a": 1}], pa.struct([("a", pa.date32())]))
TYPED["list of dictionaries"] = pa.array([["x"]], pa.list_(pa.dictionary(pa.int8(), pa.string())))


#: Types that are exported with the producer's memory, although the frame has new offsets.
OFFSETS_MADE_FOR_THE_FRAME = {"fixed_size_binary", "fixed_size_list"}


def both(array, tmp_path, capsys, *options):
    path = tmp_path / "t.arrow"
    batch = pa.record_batch({"c": array})
    with pa.ipc.new_file(path, batch.schema) as sink:
        sink.write_batch(batch)
    assert main(["inspect", "--json", str(path)]) == 0
    (inspected,) = json.loads(capsys.readouterr().out)["columns"]
    main(["roundtrip", "--json", *options, str(path)])
    (file,) = json.loads(capsys.readouterr().out)["files"]
    (column,) = file["columns"]
    return inspected, column


@pytest.mark.parametrize("name", TYPED)
def test_commands_report_the_support_that_the_buffer_addresses_have(name, tmp_path, capsys):
    inspected, column = both(TYPED[name], tmp_path, capsys)
    if inspected["support"] == "unsupported":
        assert column["result"] == "unsupported"
        return
    assert column["result"] == "match", column
    if inspected["support"] == "depends":
        assert inspected["note"]
        assert column["support"] in ("zero-copy", "converted")
    else:
        assert inspected["support"] == column["support"]
    if column["support"] == "converted":
        assert inspected["note"], "a reason"
        assert column["note"], "a reason"
    is_shared = shares_memory(TYPED[name])
    if column["support"] == "zero-copy":
        assert is_shared
    elif name not in OFFSETS_MADE_FOR_THE_FRAME and name != "null":  # which has no buffers
        assert not is_shared


def shares_memory(array):
    """Return whether a frame of an array and its export have only the memory of the array."""
    batch = pa.record_batch({"c": array})
    frame = cab.from_arrow_device(batch)
    exported = cab.to_arrow_device(frame)
    memory = memory_of_cudf(frame)
    is_shared_out = all(any(a <= p < b for a, b in memory) for p in parts_of_arrow(exported))
    return is_shared_out and stored_inside(pa.record_batch(exported)["c"], batch["c"])


def test_both_commands_report_the_reason_of_converted_dictionary_codes(tmp_path, capsys):
    inspected, column = both(VALUES["dictionary"], tmp_path, capsys)
    assert (inspected["support"], inspected["note"]) == ("depends", CODES_WIDTH)
    assert column["support"] == "converted"
    assert CODES_WIDTH in column["note"]


def test_dictionary_of_int8_codes_and_distinct_values_is_zero_copy(tmp_path, capsys):
    inspected, column = both(TYPED["dictionary of int8"], tmp_path, capsys)
    assert (inspected["support"], column["support"]) == ("depends", "zero-copy")
    assert (inspected["note"], column["note"]) == (REPEATED_CATEGORIES, "")


def test_support_that_the_values_require_has_a_reason(tmp_path, capsys):
    fields = [pa.array([1, 2], pa.int8())]
    structs = pa.StructArray.from_arrays(fields, ["a"], mask=pa.array([False, True]))
    inspected, column = both(structs, tmp_path, capsys)
    assert (inspected["support"], column["support"]) == ("zero-copy", "converted")
    assert "nulls of a struct become nulls of its fields" in column["note"]


def test_roundtrip_in_batches_counts_shared_bytes_once(tmp_path, capsys):
    type_ = pa.dictionary(pa.int8(), pa.string())
    words = pa.array(["one", "two"] * 50).dictionary_encode().cast(type_)
    _, whole = both(words, tmp_path, capsys)
    assert whole["bytes"] == 100 + 6 + 3 * 4
    _, parts = both(words, tmp_path, capsys, "--max-rows", "7")
    assert parts["support"] == whole["support"] == "zero-copy"
    assert parts["bytes"] == whole["bytes"]
