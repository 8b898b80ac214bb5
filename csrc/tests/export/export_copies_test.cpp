// SPDX-License-Identifier: Apache-2.0
#include "testing/consumer.hpp"
#include "testing/memory_ranges.hpp"
#include "testing/views.hpp"

#include <cudf_arrow_bridge/export.hpp>

#include <gtest/gtest.h>

namespace cudf_arrow_bridge::test {
namespace {

class ExportCopies : public ::testing::TestWithParam<std::tuple<shape, int>> {
 protected:
  shape type{std::get<0>(GetParam())};
  rows values{samples(type, 131, std::get<1>(GetParam()))};
  std::unique_ptr<cudf::column> column{make_column(type, values)};
  memory_ranges memory{memory_of(column->view())};

  [[nodiscard]] static device_array export_with(copy_policy policy,
                                                cudf::column_view const& view,
                                                bool compact,
                                                std::shared_ptr<void const> owner = nullptr)
  {
    return to_arrow_device(view,
                           std::move(owner),
                           {.compact = compact, .copy = policy},
                           stream(),
                           host_memory_resource());
  }
};

TEST_P(ExportCopies, AreRejectedByNeverIfABufferWouldBeCopied)
{
  for (auto const begin : {0, 1, 8, 32, 33, 131}) {
    for (auto const compact : {false, true}) {
      SCOPED_TRACE(std::to_string(begin) + ", compact: " + std::to_string(compact));
      auto const view = slice(*column, begin, 131);
      auto shares     = true;
      visit_buffers(export_with(copy_policy::as_needed, view, compact), [&](auto const& buffer) {
        shares = shares && memory.have(buffer.address);
        EXPECT_EQ(buffer.reason.empty(), memory.have(buffer.address));
      });
      if (shares) {
        auto const array = export_with(copy_policy::never, view, compact).to_arrow();
        EXPECT_EQ(read_arrow(array->array, type),
                  part(values, static_cast<std::size_t>(begin), values.size()));
      } else {
        EXPECT_THROW((void)export_with(copy_policy::never, view, compact), std::invalid_argument);
      }
    }
  }
}

TEST_P(ExportCopies, AreMadeOfAllBuffersByAlways)
{
  auto owner       = std::make_shared<int>(7);
  auto const array = export_with(copy_policy::always, slice(*column, 9, 131), false, owner);
  EXPECT_EQ(owner.use_count(), 1) << "the copy does not keep the source";
  visit_buffers(array, [&](auto const& buffer) {
    EXPECT_FALSE(memory.have(buffer.address));
    EXPECT_EQ(buffer.reason, "copy=True");
  });
  column.reset();
  EXPECT_EQ(read_arrow(array.to_arrow()->array, type), part(values, 9, 131));
}

INSTANTIATE_TEST_SUITE_P(Types,
                         ExportCopies,
                         ::testing::Combine(::testing::ValuesIn(nested_shapes()),
                                            ::testing::Values(0, 30)),
                         [](auto const& one) {
                           return std::get<0>(one.param).name + "_" +
                                  std::to_string(std::get<1>(one.param));
                         });

}  // namespace
}  // namespace cudf_arrow_bridge::test
