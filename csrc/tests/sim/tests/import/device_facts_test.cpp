// SPDX-License-Identifier: Apache-2.0
/// @file
/// Imports read offsets and null counts from device memory with one wait.
#include "schema/schema_structs.hpp"
#include "sim/tests/bridge_test.hpp"
#include "testing/arrow_schema.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

namespace cudf_arrow_bridge::test {
namespace {

void forget_null_counts(ArrowArray& array)
{
  if (array.n_buffers > 0 && array.buffers[0] != nullptr) { array.null_count = -1; }
  for (std::int64_t i = 0; i < array.n_children; ++i) { forget_null_counts(*array.children[i]); }
  if (array.dictionary != nullptr) { forget_null_counts(*array.dictionary); }
}

/// An array of two lists in device memory of a test, with unknown null counts.
struct two_lists {
  two_lists(std::array<void const*, 2> of_lists,
            std::vector<void const*> of_elements,
            std::int64_t num_elements)
    : list_buffers{of_lists}, element_buffers{std::move(of_elements)}
  {
    elements.length        = num_elements;
    elements.null_count    = -1;
    elements.n_buffers     = std::ssize(element_buffers);
    elements.buffers       = element_buffers.data();
    elements.release       = [](ArrowArray* self) { self->release = nullptr; };
    lists.device_type      = ARROW_DEVICE_CUDA;
    lists.array            = elements;
    lists.array.length     = 2;
    lists.array.n_buffers  = 2;
    lists.array.buffers    = list_buffers.data();
    lists.array.n_children = 1;
    lists.array.children   = &child;
  }

  two_lists(two_lists const&)            = delete;
  two_lists& operator=(two_lists const&) = delete;

  std::array<void const*, 2> list_buffers;
  std::vector<void const*> element_buffers;
  ArrowArray elements{};
  ArrowArray* child{&elements};
  ArrowDeviceArray lists{};
};

class device_facts : public bridge_test {
 protected:
  /// A table whose columns kernels fill late, exported on the stream of these kernels.
  struct late_table {
    unique_schema schema;
    unique_device_array array;
  };

  late_table export_late(std::vector<shape> const& types,
                         std::vector<rows> const& values,
                         cudaStream_t stream)
  {
    auto columns = std::make_shared<std::vector<std::unique_ptr<cudf::column>>>();
    auto views   = std::vector<cudf::column_view>{};
    for (std::size_t i = 0; i < types.size(); ++i) {
      columns->push_back(column(types[i], values[i], stream));
      views.push_back(columns->back()->view());
    }
    auto const table = cudf::table_view{views};
    auto schema      = to_arrow_schema(table, std::vector<column_metadata>(views.size()), {});
    auto array       = to_arrow_device(table, std::move(columns), {}, stream, pool_).to_arrow();
    for (std::int64_t i = 0; i < array->array.n_children; ++i) {
      forget_null_counts(*array->array.children[i]);
    }
    return {std::move(schema), std::move(array)};
  }

  std::size_t waits_of_table(std::vector<shape> const& types, int null_percent)
  {
    auto const far  = lasting_stream{};
    auto const here = lasting_stream{};
    auto values     = std::vector<rows>{};
    for (std::size_t i = 0; i < types.size(); ++i) {
      values.push_back(samples(types[i], 60, null_percent, static_cast<unsigned>(i)));
    }
    auto source         = export_late(types, values, far.get());
    auto const before   = sim::host_syncs_here();
    auto const imported = from_arrow_device_table(
      *source.schema.get(), source.array.get(), {}, cuda::stream_ref{here.get()}, pool_);
    auto const result = sim::host_syncs_here() - before;
    auto seen         = std::vector<late_rows>{};
    for (std::size_t i = 0; i < types.size(); ++i) {
      seen.push_back(read_later(imported.columns[i].view(), types[i], here.get()));
    }
    synchronize(here.get());
    for (std::size_t i = 0; i < types.size(); ++i) {
      EXPECT_EQ(*seen[i], values[i]) << types[i].name;
    }
    return result;
  }
};

TEST_F(device_facts, import_of_many_columns_waits_once)
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
  for (auto const null_percent : {0, 30, 100}) {
    for (auto seed = 0U; seed < 10; ++seed) {
      sim::reset(seed);
      EXPECT_EQ(waits_of_table(many, null_percent), 1U) << null_percent;
    }
  }
}

TEST_F(device_facts, import_of_fixed_width_columns_without_nulls_does_not_wait)
{
  auto const types = std::vector{flat("int32"), flat("bool8"), struct_of({flat("int64")})};
  EXPECT_EQ(waits_of_table(types, 0), 0U);
}

TEST_F(device_facts, bools_of_one_byte_are_checked_with_one_wait)
{
  auto const stream = lasting_stream{};
  auto schema       = unique_schema{};
  ArrowSchemaInit(schema.get());
  check(ArrowSchemaSetTypeStruct(schema.get(), 2));
  for (auto i = 0; i < 2; ++i) {
    check(ArrowSchemaSetFormat(schema->children[i], "c"));
    detail::set_metadata(*schema->children[i], {{"ARROW:extension:name", "arrow.bool8"}});
  }
  struct bool_case {
    std::array<std::uint8_t, 3> bytes;
    bool sanitize;
  };
  for (auto const& [bytes, sanitize] :
       {bool_case{{0, 1, 1}, true}, {{1, 2, 255}, true}, {{1, 2, 255}, false}}) {
    auto* memory = sim::allocate(memory_kind::device, 0, bytes.size());
    sim::enqueue(stream.get(),
                 [memory, from = bytes] { std::memcpy(memory, from.data(), from.size()); });
    auto buffers  = std::array<void const*, 2>{nullptr, memory};
    auto keep     = [](ArrowArray* self) { self->release = nullptr; };
    auto children = std::array<ArrowArray, 2>{};
    auto pointers = std::array<ArrowArray*, 2>{&children[0], &children[1]};
    for (auto& child : children) {
      child.length    = 3;
      child.n_buffers = 2;
      child.buffers   = buffers.data();
      child.release   = keep;
    }
    auto no_mask           = std::array<void const*, 1>{};
    auto table             = ArrowDeviceArray{};
    table.device_type      = ARROW_DEVICE_CUDA;
    table.array.length     = 3;
    table.array.n_buffers  = 1;
    table.array.buffers    = no_mask.data();
    table.array.n_children = 2;
    table.array.children   = pointers.data();
    table.array.release    = keep;
    auto const before      = sim::host_syncs_here();
    auto options           = import_options{};
    options.sanitize       = sanitize;
    auto imported          = from_arrow_device_table(
      *schema.get(), &table, options, cuda::stream_ref{stream.get()}, pool_);
    EXPECT_EQ(sim::host_syncs_here() - before, sanitize ? 1U : 0U);
    auto const shared = !sanitize || bytes[2] == 1;
    for (auto const& each : imported.columns) {
      EXPECT_EQ(each.view().type().id(), cudf::type_id::BOOL8);
      EXPECT_EQ(each.view().head<void>() == memory, shared);
      if (!sanitize) { continue; }
      auto const seen = read_later(each.view(), flat("bool8"), stream.get());
      synchronize(stream.get());
      EXPECT_EQ(*seen, (rows{number(bytes[0]), number(1), number(1)}));
    }
    imported = {};
    settle();
    sim::deallocate(memory);
  }
}

TEST_F(device_facts, import_of_no_rows_does_not_wait)
{
  for (auto const& type : {flat("int32"),
                           flat("string"),
                           list_of(flat("string")),
                           struct_of({list_of(flat("int8"))}),
                           dictionary_of(flat("string"))}) {
    SCOPED_TRACE(type.name);
    auto const stream = lasting_stream{};
    auto array        = to_arrow(column(type, {}, stream.get()), stream.get()).to_arrow();
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
    auto const imported = import(array.get(), *make_schema(type).get(), stream.get());
    EXPECT_EQ(sim::host_syncs_here(), before);
    auto const seen = read_later(imported.view(), type, stream.get());
    synchronize(stream.get());
    EXPECT_EQ(*seen, rows{});
  }
}

TEST_F(device_facts, import_of_sliced_lists_waits_at_most_once_per_level)
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
    for (auto seed = 0U; seed < 20; ++seed) {
      sim::reset(seed);
      auto const far    = lasting_stream{};
      auto const here   = lasting_stream{};
      auto const all    = samples(type, 90, 30, seed);
      auto const first  = static_cast<cudf::size_type>(seed) + 1;
      auto const values = rows{all.begin() + first, all.begin() + first + 40};
      auto source       = std::shared_ptr{column(type, all, far.get())};
      auto const view   = slice_later(source->view(), first, values);
      auto const schema = schema_of(view);
      auto array        = to_arrow_device(view, std::move(source), {}, far.get(), pool_).to_arrow();
      auto const before = sim::host_syncs_here();
      auto const imported = import(array.get(), *schema.get(), here.get());
      EXPECT_LE(sim::host_syncs_here() - before, most);
      auto const seen = read_later(imported.view(), type, here.get());
      synchronize(here.get());
      EXPECT_EQ(*seen, values);
    }
  }
}

TEST_F(device_facts, pushing_nulls_of_structs_to_children_adds_no_wait)
{
  auto const type = struct_of({flat("int32"), struct_of({flat("int64"), flat("bool8")})});
  for (auto seed = 0U; seed < 20; ++seed) {
    sim::reset(seed);
    auto const far    = lasting_stream{};
    auto const here   = lasting_stream{};
    auto const values = samples(type, 70, 30, seed);
    auto source       = column(type, values, far.get());
    auto const schema = schema_of(source->view());
    auto array        = to_arrow(std::move(source), far.get()).to_arrow();
    // Arrow allows children to be valid where their struct is null.
    auto const forget_mask = [](ArrowArray& field) {
      field.buffers[0] = nullptr;
      field.null_count = 0;
    };
    forget_mask(*array->array.children[0]);
    forget_mask(*array->array.children[1]->children[0]);
    auto const before   = sim::host_syncs_here();
    auto const imported = import(array.get(), *schema.get(), here.get());
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
  }
}

TEST_F(device_facts, short_validity_bitmaps_are_copied)
{
  for (auto const size : {std::size_t{4}, std::size_t{64}}) {
    auto const stream = lasting_stream{};
    auto source       = producer{stream.get(), {1, 2, 3, 4}};
    auto* const mask  = sim::allocate(memory_kind::device, 0, size);
    sim::enqueue(stream.get(), [mask] { std::memset(mask, 0b1011, 1); });
    synchronize(stream.get());
    auto buffers                  = std::array<void const*, 2>{mask, source.data()};
    source.array.array.buffers    = buffers.data();
    source.array.array.null_count = 1;
    auto imported                 = import(source, stream.get());
    EXPECT_EQ(imported.view().null_mask() == mask, size == 64U);
    auto const seen = read_later(imported.view(), flat("int32"), stream.get());
    imported.storage.reset();
    synchronize(stream.get());
    EXPECT_EQ(*seen, (rows{number(1), number(2), value{}, number(4)}));
    settle();
    sim::deallocate(mask);
  }
}

TEST_F(device_facts, unreferenced_list_elements_are_not_sanitized)
{
  auto const type = list_of(flat("string"));
  for (auto seed = 0U; seed < 10; ++seed) {
    sim::reset(seed);
    auto const stream   = lasting_stream{};
    auto* const memory  = static_cast<std::int32_t*>(sim::allocate(memory_kind::device, 0, 128));
    auto* const valid   = memory + 8;
    auto* const offsets = memory + 16;
    // A null string of three characters, a null list and an empty one.
    sim::enqueue(stream.get(), [=] {
      std::memset(memory, 0, 128);
      *valid     = 0b10;
      offsets[4] = 3;
    });
    auto source       = two_lists{{valid, offsets}, {memory, offsets + 3, memory}, 1};
    auto const before = sim::host_syncs_here();
    auto imported     = import(&source.lists, *make_schema(type).get(), stream.get());
    EXPECT_EQ(sim::host_syncs_here() - before, 1U);
    auto const seen = read_later(imported.view(), type, stream.get());
    imported.storage.reset();
    synchronize(stream.get());
    EXPECT_EQ(*seen, (rows{value{}, value{rows{}}}));
    settle();
    sim::deallocate(memory);
  }
}

TEST_F(device_facts, elements_before_the_first_offset_are_not_read)
{
  constexpr auto far = std::int64_t{1} << 31;
  auto type          = list_of(flat("int32"));
  type.format        = "+L";
  for (auto seed = 0U; seed < 10; ++seed) {
    sim::reset(seed);
    auto const stream   = lasting_stream{};
    auto* const offsets = static_cast<std::int64_t*>(sim::allocate(memory_kind::device, 0, 24));
    auto* const values  = static_cast<std::int32_t*>(sim::allocate(memory_kind::device, 0, 20));
    auto* const mask    = static_cast<std::uint8_t*>(sim::allocate(memory_kind::device, 0, 64));
    sim::enqueue(stream.get(), [=] {
      std::iota(values, values + 5, 1);
      mask[0]    = 0b11101;
      offsets[0] = far;
      offsets[1] = far + 2;
      offsets[2] = far + 5;
    });
    // Only the referenced elements are in memory, so the base addresses are computed.
    auto const base = [](void* memory, std::int64_t bytes) {
      return reinterpret_cast<void const*>(reinterpret_cast<std::uintptr_t>(memory) -
                                           static_cast<std::uintptr_t>(bytes));
    };
    auto source =
      two_lists{{nullptr, offsets}, {base(mask, far / 8), base(values, far * 4)}, far + 5};
    auto imported   = import(&source.lists, *make_schema(type).get(), stream.get());
    auto const seen = read_later(imported.view(), type, stream.get());
    imported.storage.reset();
    synchronize(stream.get());
    EXPECT_EQ(
      *seen, (rows{value{rows{number(1), value{}}}, value{rows{number(3), number(4), number(5)}}}));
    settle();
    for (void* memory :
         {static_cast<void*>(offsets), static_cast<void*>(values), static_cast<void*>(mask)}) {
      sim::deallocate(memory);
    }
  }
}

TEST_F(device_facts, invalid_offsets_are_rejected_with_their_values)
{
  auto const type = list_of(flat("int32"));
  struct spoiled_offsets {
    std::int32_t first;
    std::int32_t last;
    std::string what;
  };
  for (auto const& [first, last, what] :
       std::vector<spoiled_offsets>{{-1, 2, "expected an offset of at least 0, got -1"},
                                    {2, 1, "expected ascending offsets, got 2 to 1"}}) {
    SCOPED_TRACE(what);
    sim::reset(0);
    auto const stream   = lasting_stream{};
    auto* const offsets = static_cast<std::int32_t*>(sim::allocate(memory_kind::device, 0, 12));
    sim::enqueue(stream.get(), [=, first = first, last = last] {
      offsets[0] = first;
      offsets[1] = first;
      offsets[2] = last;
    });
    auto source  = two_lists{{nullptr, offsets}, {nullptr, offsets}, 3};
    auto message = std::string{};
    try {
      (void)import(&source.lists, *make_schema(type).get(), stream.get());
    } catch (std::invalid_argument const& error) {
      message = error.what();
    }
    EXPECT_NE(message.find(what), std::string::npos) << message;
    settle();
    sim::deallocate(offsets);
  }
}

TEST_F(device_facts, structs_with_a_shared_child_keep_separate_nulls)
{
  auto const type   = struct_of({struct_of({flat("int32")}), struct_of({flat("int32")})});
  auto const schema = make_schema(type);
  auto expected     = rows{};
  for (auto row = 0; row < 8; ++row) {
    auto const present = value{rows{number(row)}};
    expected.push_back({rows{row == 0 ? value{} : present, row >= 6 ? value{} : present}});
  }
  for (auto seed = 0U; seed < 10; ++seed) {
    sim::reset(seed);
    auto const stream  = lasting_stream{};
    auto* const memory = static_cast<std::byte*>(sim::allocate(memory_kind::device, 0, 192));
    sim::enqueue(stream.get(), [memory] {
      memory[0]  = std::byte{0b1111'1110};
      memory[64] = std::byte{0b0011'1111};
      std::iota(reinterpret_cast<std::int32_t*>(memory + 128),
                reinterpret_cast<std::int32_t*>(memory + 128) + 8,
                0);
    });
    auto make = [](auto& buffers, std::span<ArrowArray*> children) {
      auto array       = ArrowArray{};
      array.length     = 8;
      array.null_count = -1;
      array.n_buffers  = std::ssize(buffers);
      array.buffers    = buffers.data();
      array.n_children = std::ssize(children);
      array.children   = children.data();
      array.release    = [](ArrowArray* self) { self->release = nullptr; };
      return array;
    };
    auto of_values     = std::array<void const*, 2>{nullptr, memory + 128};
    auto of_left       = std::array<void const*, 1>{memory};
    auto of_right      = std::array<void const*, 1>{memory + 64};
    auto of_top        = std::array<void const*, 1>{nullptr};
    auto values        = make(of_values, {});
    auto shared        = std::array{&values};
    auto left          = make(of_left, shared);
    auto right         = make(of_right, shared);
    auto both          = std::array{&left, &right};
    auto source        = ArrowDeviceArray{};
    source.array       = make(of_top, both);
    source.device_type = ARROW_DEVICE_CUDA;
    auto imported      = import(&source, *schema.get(), stream.get());
    auto const seen    = read_later(imported.view(), type, stream.get());
    imported.storage.reset();
    synchronize(stream.get());
    EXPECT_EQ(*seen, expected);
    settle();
    sim::deallocate(memory);
  }
}

TEST_F(device_facts, table_with_null_rows_is_rejected)
{
  auto const type   = struct_of({flat("int32")});
  auto const values = samples(type, 20, 50);
  for (auto seed = 0U; seed < 10; ++seed) {
    sim::reset(seed);
    auto const far    = lasting_stream{};
    auto const here   = lasting_stream{};
    auto const schema = schema_of(column(type, values, far.get())->view());
    auto array        = to_arrow(column(type, values, far.get()), far.get()).to_arrow();
    forget_null_counts(array->array);
    EXPECT_THROW((void)from_arrow_device_table(
                   *schema.get(), array.get(), {}, cuda::stream_ref{here.get()}, pool_),
                 std::invalid_argument);
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
