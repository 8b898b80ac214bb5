// SPDX-License-Identifier: Apache-2.0
/// @file
/// Imports read offsets and null counts from device memory with one wait.
#include "schema/schema_tree.hpp"
#include "sim/tests/bridge_test.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace cudf_arrow_bridge::test {
namespace {

void forget_null_counts(ArrowArray& array)
{
  if (array.n_buffers > 0 && array.buffers[0] != nullptr) { array.null_count = -1; }
  for (std::int64_t i = 0; i < array.n_children; ++i) { forget_null_counts(*array.children[i]); }
  if (array.dictionary != nullptr) { forget_null_counts(*array.dictionary); }
}

/// An array over memory of the test, with unknown null counts. Its release frees nothing.
struct raw_array {
  raw_array(std::int64_t length,
            std::vector<void const*> all_buffers,
            std::vector<ArrowArray*> all_children = {})
    : buffers{std::move(all_buffers)}, children{std::move(all_children)}
  {
    array.length     = length;
    array.null_count = -1;
    array.n_buffers  = std::ssize(buffers);
    array.buffers    = buffers.data();
    array.n_children = std::ssize(children);
    array.children   = children.data();
    array.release    = [](ArrowArray* self) { self->release = nullptr; };
  }

  raw_array(raw_array const&)            = delete;
  raw_array& operator=(raw_array const&) = delete;

  /// @return The array, labelled as device memory
  [[nodiscard]] ArrowDeviceArray on_device() const
  {
    auto result        = ArrowDeviceArray{};
    result.array       = array;
    result.device_type = ARROW_DEVICE_CUDA;
    return result;
  }

  std::vector<void const*> buffers;
  std::vector<ArrowArray*> children;
  ArrowArray array{};
};

/// Device memory that is freed with the object.
template <typename T>
struct device_memory {
  explicit device_memory(std::size_t count)
    : data{static_cast<T*>(sim::allocate(memory_kind::device, 0, count * sizeof(T)))}
  {
  }
  ~device_memory() { sim::deallocate(data); }

  device_memory(device_memory const&)            = delete;
  device_memory& operator=(device_memory const&) = delete;

  T* data;
};

class DeviceFacts : public bridge_test {
 protected:
  /// Imports a table that kernels fill late, with unknown null counts. @return The host's waits
  std::size_t waits_of_table(shape const& type,
                             int null_percent,
                             cudaStream_t far,
                             cudaStream_t here)
  {
    auto const values = table_samples(type, 60, null_percent);
    auto source       = export_rows(type, values, far).to_arrow();
    forget_null_counts(source->array);
    auto const before   = sim::host_syncs_here();
    auto const imported = import_table(source, type, here);
    auto const result   = sim::host_syncs_here() - before;
    for (std::size_t i = 0; i < type.children.size(); ++i) {
      expect_rows(imported.columns[i].view(), type.children[i], field_rows(values, i, {}), here);
    }
    return result;
  }
};

TEST_F(DeviceFacts, ImportOfManyColumnsWaitsOnce)
{
  auto const types = std::vector{flat("int32"),
                                 flat("string"),
                                 flat("bool8"),
                                 list_of(flat("int16")),
                                 list_of(list_of(flat("string"))),
                                 struct_of({flat("int8"), flat("string"), list_of(flat("int64"))}),
                                 list_of(struct_of({flat("int32"), struct_of({flat("string")})})),
                                 dictionary_of(flat("string")),
                                 flat("timestamp_us")};
  auto many        = std::vector<shape>{};
  for (auto copies = 0; copies < 4; ++copies) {
    many.insert(many.end(), types.begin(), types.end());
  }
  for (auto const percent : {0, 30, 100}) {
    for_seeds(10, [&](cudaStream_t far, cudaStream_t here) {
      EXPECT_EQ(waits_of_table(struct_of(many), percent, far, here), 1U) << percent;
    });
  }
}

TEST_F(DeviceFacts, ImportOfFixedWidthColumnsWithoutNullsDoesNotWait)
{
  auto const type = struct_of({flat("int32"), flat("bool8"), struct_of({flat("int64")})});
  for_seeds(1, [&](cudaStream_t far, cudaStream_t here) {
    EXPECT_EQ(waits_of_table(type, 0, far, here), 0U);
  });
}

TEST_F(DeviceFacts, BoolsOfOneByteAreCheckedWithOneWait)
{
  auto const stream = lasting_stream{};
  auto schema       = make_schema(struct_of({flat("int8"), flat("int8")}));
  for (auto i = 0; i < 2; ++i) {
    detail::set_metadata(*schema->children[i], {{"ARROW:extension:name", "arrow.bool8"}});
  }
  struct bool_case {
    std::array<std::uint8_t, 3> bytes;
    bool sanitize;
  };
  for (auto const& [bytes, sanitize] :
       {bool_case{{0, 1, 1}, true}, {{1, 2, 255}, true}, {{1, 2, 255}, false}}) {
    auto const memory = device_memory<std::uint8_t>{bytes.size()};
    sim::enqueue(stream.get(),
                 [to = memory.data, from = bytes] { std::memcpy(to, from.data(), from.size()); });
    auto one          = raw_array{3, {nullptr, memory.data}};
    auto two          = raw_array{3, {nullptr, memory.data}};
    auto both         = raw_array{3, {nullptr}, {&one.array, &two.array}};
    auto table        = both.on_device();
    auto const before = sim::host_syncs_here();
    auto imported =
      from_arrow_device_table(*schema.get(), &table, {.sanitize = sanitize}, stream.get(), pool_);
    EXPECT_EQ(sim::host_syncs_here() - before, sanitize ? 1U : 0U);
    auto const shared = !sanitize || bytes[2] == 1;
    for (auto const& each : imported.columns) {
      EXPECT_EQ(each.view().type().id(), cudf::type_id::BOOL8);
      EXPECT_EQ(each.view().head<void>() == memory.data, shared);
      if (!sanitize) { continue; }
      expect_rows(each.view(), flat("bool8"), integer_rows({bytes[0], 1, 1}), stream.get());
    }
    imported = {};
    settle();
  }
}

TEST_F(DeviceFacts, ImportOfNoRowsDoesNotWait)
{
  for (auto const& type : {flat("int32"),
                           flat("string"),
                           list_of(flat("string")),
                           struct_of({list_of(flat("int8"))}),
                           dictionary_of(flat("string"))}) {
    SCOPED_TRACE(type.name);
    auto const stream = lasting_stream{};
    auto array        = export_rows(type, {}, stream.get()).to_arrow();
    // The specification allows null buffers and unknown null counts for empty arrays.
    auto levels = std::vector<ArrowArray*>{&array->array};
    for (std::size_t i = 0; i < levels.size(); ++i) {
      auto* level = levels[i];
      std::fill_n(level->buffers, level->n_buffers, nullptr);
      level->null_count = -1;
      levels.insert(levels.end(), level->children, level->children + level->n_children);
      if (level->dictionary != nullptr) { levels.push_back(level->dictionary); }
    }
    auto const before   = sim::host_syncs_here();
    auto const imported = import(array, type, stream.get());
    EXPECT_EQ(sim::host_syncs_here(), before);
    expect_rows(imported.view(), type, rows{}, stream.get());
  }
}

TEST_F(DeviceFacts, ImportOfSlicedListsWaitsAtMostOncePerLevel)
{
  struct row {
    shape type;
    std::size_t most;
  };

  for (auto const& [type, most] : {row{flat("string"), 1},
                                   row{list_of(flat("int32")), 2},
                                   row{struct_of({list_of(flat("string"))}), 2},
                                   row{list_of(list_of(flat("string"))), 3}}) {
    SCOPED_TRACE(type.name);
    for_seeds(20, [&](unsigned seed) {
      auto const far    = lasting_stream{};
      auto const here   = lasting_stream{};
      auto const all    = samples(type, 90, 30, seed);
      auto const first  = static_cast<cudf::size_type>(seed) + 1;
      auto const values = rows{all.begin() + first, all.begin() + first + 40};
      auto source       = column(type, all, far.get());
      auto const view   = slice_later(source->view(), first, values);
      auto array        = to_arrow_device(view, std::move(source), {}, far.get(), pool_).to_arrow();
      auto const before = sim::host_syncs_here();
      auto const imported = import(array, type, here.get());
      EXPECT_LE(sim::host_syncs_here() - before, most);
      expect_rows(imported.view(), type, values, here.get());
    });
  }
}

TEST_F(DeviceFacts, PushingNullsOfStructsToChildrenAddsNoWait)
{
  auto const type = struct_of({flat("int32"), struct_of({flat("int64"), flat("bool8")})});
  for_seeds(20, [&](unsigned seed) {
    auto const far    = lasting_stream{};
    auto const here   = lasting_stream{};
    auto const values = samples(type, 70, 30, seed);
    auto array        = export_rows(type, values, far.get()).to_arrow();
    // Arrow allows children to be valid where their struct is null.
    auto const forget_mask = [](ArrowArray& field) {
      field.buffers[0] = nullptr;
      field.null_count = 0;
    };
    forget_mask(*array->array.children[0]);
    forget_mask(*array->array.children[1]->children[0]);
    auto const before   = sim::host_syncs_here();
    auto const imported = import(array, type, here.get());
    EXPECT_EQ(sim::host_syncs_here() - before, 1U);
    auto const top = imported.view();
    (void)read_later(top, type, here.get());  // checks libcudf's invariants
    synchronize(here.get());
    for (cudf::size_type row = 0; row < top.size(); ++row) {
      auto const is_null = values[static_cast<std::size_t>(row)].is_null();
      EXPECT_EQ(is_null_at(top.child(0), row), is_null);
      auto const inner = top.child(1);
      EXPECT_EQ(is_null_at(inner.child(0), row), is_null_at(inner, row));
      EXPECT_LE(is_null, is_null_at(inner, row));
    }
  });
}

TEST_F(DeviceFacts, ShortValidityBitmapsAreCopied)
{
  for (auto const size : {std::size_t{4}, std::size_t{64}}) {
    auto const stream = lasting_stream{};
    auto const values = device_memory<std::int32_t>{4};
    auto const mask   = device_memory<std::uint8_t>{size};
    sim::enqueue(stream.get(), [to = values.data, bits = mask.data] {
      std::iota(to, to + 4, 1);
      *bits = 0b1011;
    });
    auto raw      = raw_array{4, {mask.data, values.data}};
    auto source   = raw.on_device();
    auto imported = import(&source, *make_schema(flat("int32")).get(), stream.get());
    EXPECT_EQ(static_cast<void const*>(imported.view().null_mask()) == mask.data, size == 64U);
    expect_rows(
      std::move(imported), flat("int32"), {number(1), number(2), value{}, number(4)}, stream.get());
    settle();
  }
}

TEST_F(DeviceFacts, UnreferencedListElementsAreNotSanitized)
{
  auto const type = list_of(flat("string"));
  for_seeds(10, [&](cudaStream_t stream) {
    auto const memory   = device_memory<std::int32_t>{32};
    auto* const valid   = memory.data + 8;
    auto* const offsets = memory.data + 16;
    // A null string of three characters, a null list and an empty one.
    sim::enqueue(stream, [=, first = memory.data] {
      std::memset(first, 0, 128);
      *valid     = 0b10;
      offsets[4] = 3;
    });
    auto strings      = raw_array{1, {memory.data, offsets + 3, memory.data}};
    auto lists        = raw_array{2, {valid, offsets}, {&strings.array}};
    auto source       = lists.on_device();
    auto const before = sim::host_syncs_here();
    auto imported     = import(&source, *make_schema(type).get(), stream);
    EXPECT_EQ(sim::host_syncs_here() - before, 1U);
    expect_rows(std::move(imported), type, {value{}, value{rows{}}}, stream);
    settle();
  });
}

TEST_F(DeviceFacts, ElementsBeforeTheFirstOffsetAreNotRead)
{
  constexpr auto far = std::int64_t{1} << 31;
  auto type          = list_of(flat("int32"));
  type.format        = "+L";
  for_seeds(10, [&](cudaStream_t stream) {
    auto const offsets = device_memory<std::int64_t>{3};
    auto const values  = device_memory<std::int32_t>{5};
    auto const mask    = device_memory<std::uint8_t>{64};
    sim::enqueue(stream, [to = offsets.data, first = values.data, bits = mask.data] {
      std::iota(first, first + 5, 1);
      *bits = 0b11101;
      to[0] = far;
      to[1] = far + 2;
      to[2] = far + 5;
    });
    // Only the referenced elements are in memory, so the base addresses are computed.
    auto const base = [](void* memory, std::int64_t bytes) {
      return reinterpret_cast<void const*>(reinterpret_cast<std::uintptr_t>(memory) -
                                           static_cast<std::uintptr_t>(bytes));
    };
    auto elements = raw_array{far + 5, {base(mask.data, far / 8), base(values.data, far * 4)}};
    auto lists    = raw_array{2, {nullptr, offsets.data}, {&elements.array}};
    auto source   = lists.on_device();
    expect_rows(import(&source, *make_schema(type).get(), stream),
                type,
                {value{rows{number(1), value{}}}, value{integer_rows({3, 4, 5})}},
                stream);
    settle();
  });
}

TEST_F(DeviceFacts, InvalidOffsetsAreRejectedWithTheirValues)
{
  auto const schema = make_schema(list_of(flat("int32")));
  struct offsets_case {
    integers_t offsets;
    std::string error;
  };
  for (auto const& [values, error] :
       std::vector<offsets_case>{{{-1, -1, 2}, "the first offset is negative: -1"},
                                 {{2, 2, 1}, "expected ascending offsets, got 2 to 1"}}) {
    auto const stream  = lasting_stream{};
    auto const offsets = device_memory<std::int32_t>{3};
    sim::enqueue(stream.get(),
                 [to = offsets.data, from = values] { std::copy(from.begin(), from.end(), to); });
    auto elements = raw_array{3, {nullptr, offsets.data}};
    auto lists    = raw_array{2, {nullptr, offsets.data}, {&elements.array}};
    auto source   = lists.on_device();
    expect_in(error, message_of([&] { (void)import(&source, *schema.get(), stream.get()); }));
    settle();
  }
}

TEST_F(DeviceFacts, StructsWithASharedChildKeepSeparateNulls)
{
  auto const type = struct_of({struct_of({flat("int32")}), struct_of({flat("int32")})});
  auto expected   = rows{};
  for (auto row = 0; row < 8; ++row) {
    auto const present = value{rows{number(row)}};
    expected.push_back({rows{row == 0 ? value{} : present, row >= 6 ? value{} : present}});
  }
  for_seeds(10, [&](cudaStream_t stream) {
    auto const masks  = device_memory<std::uint8_t>{128};
    auto const values = device_memory<std::int32_t>{8};
    sim::enqueue(stream, [bits = masks.data, to = values.data] {
      bits[0]  = 0b1111'1110;
      bits[64] = 0b0011'1111;
      std::iota(to, to + 8, 0);
    });
    auto shared = raw_array{8, {nullptr, values.data}};
    auto left   = raw_array{8, {masks.data}, {&shared.array}};
    auto right  = raw_array{8, {masks.data + 64}, {&shared.array}};
    auto top    = raw_array{8, {nullptr}, {&left.array, &right.array}};
    auto source = top.on_device();
    expect_rows(import(&source, *make_schema(type).get(), stream), type, expected, stream);
    settle();
  });
}

TEST_F(DeviceFacts, TableWithNullRowsIsRejected)
{
  auto const type   = struct_of({flat("int32")});
  auto const values = samples(type, 20, 50);
  for_seeds(10, [&](cudaStream_t far, cudaStream_t here) {
    auto array = export_rows(type, values, far).to_arrow();
    forget_null_counts(array->array);
    EXPECT_THROW((void)import_table(array, type, here), std::invalid_argument);
  });
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
