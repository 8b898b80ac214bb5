// SPDX-License-Identifier: Apache-2.0
#include "tensor/dlpack_abi.hpp"
#include "testing/columns.hpp"
#include "testing/imports.hpp"
#include "testing/producer.hpp"
#include "testing/sample.hpp"

#include <cudf_arrow_bridge/export.hpp>
#include <cudf_arrow_bridge/schema.hpp>
#include <cudf_arrow_bridge/tensor.hpp>

#include <cudf/utilities/error.hpp>

#include <cuda/stream>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::test {
namespace {

/// A DLPack tensor whose allocations have their exact size: AddressSanitizer detects further reads.
struct managed_tensor {
  explicit managed_tensor(std::vector<std::int64_t> extents,
                          std::vector<std::int64_t> steps,
                          std::vector<std::int16_t> elements)
    : shape{std::move(extents)}, strides{std::move(steps)}, values{std::move(elements)}
  {
    managed.dl_tensor   = {values.data(),
                           {ARROW_DEVICE_CPU, 0},
                           static_cast<std::int32_t>(shape.size()),
                           {0, 16, 1},
                           shape.data(),
                           strides.data(),
                           0};
    managed.manager_ctx = this;
    managed.deleter     = [](DLManagedTensor* self) {
      ++static_cast<managed_tensor*>(self->manager_ctx)->deleted;
    };
  }

  managed_tensor(managed_tensor const&)            = delete;
  managed_tensor& operator=(managed_tensor const&) = delete;

  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::vector<std::int16_t> values;
  DLManagedTensor managed{};
  int deleted{0};
};

imported_tensor import_tensor(managed_tensor& source, copy_policy policy = copy_policy::as_needed)
{
  auto imported  = from_dlpack(&source.managed, policy, stream(), host_memory_resource());
  imported.table = checked(std::move(imported.table));
  return imported;
}

std::vector<std::int16_t> values_of(cudf::column_view const& column)
{
  auto const* first = column.data<std::int16_t>();
  return {first, first + column.size()};
}

using numbers = std::vector<std::int16_t>;

TEST(Tensor, AdoptsColumnsOfFortranOrder)
{
  auto source = managed_tensor{{2, 2}, {1, 3}, {1, 2, 99, 3, 4}};
  {
    auto const imported = import_tensor(source, copy_policy::never);
    auto const table    = imported.table.view();
    EXPECT_TRUE(imported.is_table);
    EXPECT_EQ(values_of(table.column(0)), (numbers{1, 2}));
    EXPECT_EQ(values_of(table.column(1)), (numbers{3, 4}));
    EXPECT_EQ(table.column(0).head<void>(), source.values.data());
    EXPECT_EQ(source.deleted, 0);
  }
  EXPECT_EQ(source.deleted, 1);
}

/// The elements of lists that a tensor was imported as, checked for equal lengths.
std::vector<numbers> lists_of(imported_tensor const& imported)
{
  auto const view = imported.table.view().column(0);
  auto result     = std::vector<numbers>{};
  for (cudf::size_type row = 0; row < view.size(); ++row) {
    auto const* offsets = view.child(0).begin<std::int32_t>() + row;
    auto const* first   = view.child(1).data<std::int16_t>();
    result.emplace_back(first + offsets[0], first + offsets[1]);
  }
  return result;
}

TEST(Tensor, BecomesListsOfItsRows)
{
  auto const import = [](managed_tensor& source, copy_policy policy) {
    return from_dlpack(
      &source.managed, policy, stream(), host_memory_resource(), tensor_kind::column);
  };
  auto rows_first = managed_tensor{{2, 3}, {3, 1}, {1, 2, 3, 4, 5, 6}};
  {
    auto const shared = import(rows_first, copy_policy::never);
    EXPECT_EQ(lists_of(shared), (std::vector<numbers>{{1, 2, 3}, {4, 5, 6}}));
    EXPECT_EQ(shared.table.view().column(0).child(1).head<void>(), rows_first.values.data());
  }
  EXPECT_EQ(rows_first.deleted, 1);
  auto columns_first = managed_tensor{{2, 3}, {1, 2}, {1, 4, 2, 5, 3, 6}};
  EXPECT_EQ(lists_of(import(columns_first, copy_policy::as_needed)),
            (std::vector<numbers>{{1, 2, 3}, {4, 5, 6}}));
  auto refused = managed_tensor{{2, 3}, {1, 2}, {1, 4, 2, 5, 3, 6}};
  EXPECT_THROW((void)import(refused, copy_policy::never), std::invalid_argument);
  EXPECT_EQ(refused.deleted, 1);
  auto empty = managed_tensor{{2, 0, 3}, {0, 0, 0}, {}};
  EXPECT_EQ(lists_of(import(empty, copy_policy::never)), (std::vector<numbers>{{}, {}}));
}

TEST(Tensor, StridesOfOneElementMayHaveAnyValue)
{
  constexpr auto far            = std::numeric_limits<std::int64_t>::max() - 1;
  auto source                   = managed_tensor{{1, 2, 1}, {far, -1, -far}, {1, 2}};
  source.managed.dl_tensor.data = &source.values.back();
  auto const lists              = from_dlpack(
    &source.managed, copy_policy::as_needed, stream(), host_memory_resource(), tensor_kind::column);
  EXPECT_EQ(lists_of(lists), (std::vector<numbers>{{2, 1}}));
  auto row = managed_tensor{{1, 2}, {far, 0}, {7}};
  EXPECT_EQ(values_of(import_tensor(row).table.view().column(1)), (numbers{7}));
}

TEST(Tensor, StridesOfNoElementsMayHaveAnyValue)
{
  constexpr auto far = std::numeric_limits<std::int64_t>::max() - 1;
  auto source        = managed_tensor{{0, 3}, {far, far}, {}};
  auto const table   = import_tensor(source).table.view();
  EXPECT_EQ(table.num_columns(), 3);
  EXPECT_EQ(table.num_rows(), 0);
}

TEST(Tensor, ListsHaveAtMostAsManyElementsAsAColumn)
{
  for (auto const& shape : std::vector<std::vector<std::int64_t>>{
         {1 << 16, 1 << 16}, {0, 1 << 16, 1 << 16}, {2, std::int64_t{1} << 62, 4}}) {
    auto wide = managed_tensor{shape, std::vector<std::int64_t>(shape.size(), 1), {1}};
    EXPECT_THROW((void)from_dlpack(&wide.managed,
                                   copy_policy::as_needed,
                                   stream(),
                                   host_memory_resource(),
                                   tensor_kind::column),
                 std::overflow_error);
  }
}

/// @return The error of the import of a tensor of CPU integers; empty if there is none
std::string refusal(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides)
{
  auto const tensor =
    tensor_view{nullptr, {}, element_kind::integer, 16, std::move(shape), std::move(strides)};
  try {
    (void)from_tensor(tensor, {}, {}, copy_policy::as_needed, stream(), host_memory_resource());
  } catch (std::exception const& error) {
    return error.what();
  }
  return "";
}

TEST(Tensor, ErrorsNameOneCause)
{
  EXPECT_EQ(refusal({1, 1, 1}, {1, 1}),
            "expected a tensor of 1 dimension (a column) or 2 (a table), got 3: import it with "
            "kind=\"column\", as lists");
  EXPECT_EQ(refusal({1, 1}, {1}), "expected 2 strides, one for each dimension, got 1");
  EXPECT_EQ(refusal({2'147'483'647, 1 << 20}, {1, 1}),
            "expected a tensor of at most 2147483646 rows, got 2147483647: import it in parts");
  EXPECT_EQ(refusal({1, 1 << 20}, {1, 1}),
            "expected a tensor of at most 1048575 columns, got 1048576: import it in parts");
}

TEST(Tensor, OfABatchRequiresRowsWithoutNulls)
{
  auto const type   = struct_of({flat("int32")});
  auto const nulls  = rows(20, value{rows{value{}}});
  auto const schema = make_schema(type);
  for (auto const first : {20, 19}) {
    auto values = nulls;
    for (auto i = 0; i < 3; ++i) { values.push_back({rows{number(i)}}); }
    auto batch                    = unique_device_array{};
    batch->device_type            = ARROW_DEVICE_CPU;
    batch->device_id              = -1;
    auto made                     = produce(type, values);
    made->offset                  = first;
    made->length                  = 3;
    made->children[0]->null_count = -1;
    auto const* const from        = made->children[0]->buffers[1];
    ArrowArrayMove(made.get(), &batch->array);
    auto const share = [&] {
      return to_tensor(
        *schema.get(), batch.get(), copy_policy::never, {}, stream(), host_memory_resource());
    };
    if (first == 19) {
      EXPECT_THROW((void)share(), cudf::data_type_error);
    } else {
      EXPECT_EQ(share().view().data, static_cast<std::byte const*>(from) + 20 * 4);
    }
  }
}

/// The expected tensor of one buffer of an exported array.
struct buffer_case {
  char const* format;  ///< the requested format of the array
  std::size_t index;
  element_kind kind;
  std::int64_t bits;  ///< 0: tensors do not have the type of the elements
};

void PrintTo(buffer_case const& tested, std::ostream* out)
{ *out << "buffer " << tested.index << " of " << tested.format; }

/// Return the type of the column that is exported in an Arrow format.
shape held_as(std::string const& format)
{
  if (format == "+L") { return list_of(flat("int16")); }
  if (format == "vu") { return flat("string"); }
  if (format == "tts") { return flat("duration_s"); }
  if (format == "b") { return flat("bool8"); }
  if (format == "tsm:") { return flat("timestamp_ms"); }
  if (format == "d:9,2,32") { return flat("decimal32"); }
  if (format == "d:38,20") { return flat("decimal128"); }
  return list_of(flat("uint8"));
}

class TensorsOfBuffers : public ::testing::TestWithParam<buffer_case> {};

TEST_P(TensorsOfBuffers, HaveTheStoredElementType)
{
  auto const& [format, index, kind, bits] = GetParam();

  auto const type = held_as(format);
  auto const is_bytes =
    type.id == cudf::type_id::LIST && type.children[0].id == cudf::type_id::UINT8;
  auto values       = is_bytes ? rows(4, value{rows(3, number(7))})
                      : type.id == cudf::type_id::DURATION_SECONDS ? rows(4, number(9))
                                                                   : samples(type, 4, 0);
  auto const column = make_column(type, values);
  auto wanted       = unique_schema{};
  ArrowSchemaInit(wanted.get());
  if (std::string_view{format} == "+L") {
    wanted = make_schema(large_list_of(flat("int16")));
  } else {
    check(ArrowSchemaSetFormat(wanted.get(), format));
    wanted->flags = ARROW_FLAG_NULLABLE;
  }
  auto const schema = cudf_arrow_bridge::make_schema(*column, {}, wanted.get());
  auto const exported =
    to_arrow_device(column->view(), nullptr, {.schema = schema}, stream(), host_memory_resource());
  auto const c_schema = schema.to_arrow();
  auto array          = exported.to_arrow();
  ASSERT_STREQ(c_schema->format, format);
  auto const info  = exported.buffers();
  auto const taken = [&] {
    return buffer_tensor(*c_schema.get(), array.get(), index, info[index].size);
  };
  if (bits == 0) {
    EXPECT_THROW((void)taken(), cudf::data_type_error);
    EXPECT_FALSE(array.is_released());
    return;
  }
  auto const tensor = taken();
  auto const& view  = tensor.view();
  EXPECT_EQ(view.kind, kind);
  EXPECT_EQ(view.bits, bits);
  EXPECT_EQ(view.data, info[index].address);
  EXPECT_EQ(view.shape, std::vector{info[index].size * 8 / bits});
}

INSTANTIATE_TEST_SUITE_P(Formats,
                         TensorsOfBuffers,
                         ::testing::Values(buffer_case{"z", 1, element_kind::integer, 32},
                                           buffer_case{"z", 2, element_kind::unsigned_integer, 8},
                                           buffer_case{"Z", 1, element_kind::integer, 64},
                                           buffer_case{"w:3", 1, element_kind::unsigned_integer, 8},
                                           buffer_case{"+L", 1, element_kind::integer, 64},
                                           buffer_case{"vu", 1, element_kind::integer, 0},
                                           buffer_case{"vu", 2, element_kind::unsigned_integer, 8},
                                           buffer_case{"vu", 3, element_kind::integer, 64},
                                           buffer_case{"tts", 1, element_kind::integer, 32},
                                           buffer_case{"tsm:", 1, element_kind::integer, 64},
                                           buffer_case{"d:9,2,32", 1, element_kind::integer, 32},
                                           buffer_case{"d:38,20", 1, element_kind::integer, 0},
                                           buffer_case{"b", 1, element_kind::unsigned_integer, 8}));

TEST(Tensor, OfAMissingBufferIsRejected)
{
  auto const column = make_column(flat("int32"), {number(1)});
  auto array =
    to_arrow_device(column->view(), nullptr, {}, stream(), host_memory_resource()).to_arrow();
  auto const schema = cudf_arrow_bridge::make_schema(*column, {}).to_arrow();
  EXPECT_THROW((void)buffer_tensor(*schema.get(), array.get(), 2, 0), std::out_of_range);
  EXPECT_FALSE(array.is_released());
}

TEST(Tensor, ElementsOutsideTheAddressSpaceAreRejected)
{
  auto const far = (std::int64_t{1} << 58) - 1;
  for (auto const step : {far, -far}) {
    auto absurd                         = managed_tensor{{1, 2}, {1, step}, {1}};
    absurd.managed.dl_tensor.dtype.bits = 64;
    // The second element is 2^61 - 8 bytes away, beyond the end or the start of the address space.
    absurd.managed.dl_tensor.byte_offset = step > 0 ? ~std::uint64_t{0} << 60 : 0;
    EXPECT_THROW((void)import_tensor(absurd), std::invalid_argument);
  }
  for (auto const step : {std::int64_t{1} << 62, -(std::int64_t{1} << 62)}) {
    // The sum of the distances is 2^64 elements, which is 0 if it overflows.
    auto cube = managed_tensor{{2, 2, 2, 2}, {step, step, step, step}, {1}};
    EXPECT_THROW((void)from_dlpack(&cube.managed,
                                   copy_policy::as_needed,
                                   stream(),
                                   host_memory_resource(),
                                   tensor_kind::column),
                 std::invalid_argument);
    EXPECT_EQ(cube.deleted, 1);
  }
  auto behind                          = managed_tensor{{1}, {1}, {1}};
  behind.managed.dl_tensor.byte_offset = ~std::uint64_t{0};
  EXPECT_THROW((void)import_tensor(behind), std::invalid_argument);
  EXPECT_EQ(behind.deleted, 1);
}

TEST(Tensor, RejectedTensorsAreDeletedOnce)
{
  auto cube = managed_tensor{{1, 1, 1}, {1, 1, 1}, {1}};
  EXPECT_THROW((void)import_tensor(cube), std::invalid_argument);
  EXPECT_EQ(cube.deleted, 1);
  auto reversed = managed_tensor{{2}, {0}, {1}};
  EXPECT_THROW((void)import_tensor(reversed, copy_policy::never), std::invalid_argument);
  EXPECT_EQ(reversed.deleted, 1);
  auto wide                         = managed_tensor{{1}, {1}, {1}};
  wide.managed.dl_tensor.dtype.bits = 24;
  EXPECT_THROW((void)import_tensor(wide), cudf::data_type_error);
  EXPECT_EQ(wide.deleted, 1);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
