// SPDX-License-Identifier: Apache-2.0
#include "compute/dictionary.hpp"

#include "compute/on_host.hpp"
#include "testing/columns.hpp"
#include "testing/expect_invariants.hpp"
#include "testing/sample.hpp"
#include "testing/views.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <type_traits>

namespace cudf_arrow_bridge::test {
namespace {

using cudf::type_id;

value text(char const* content) { return {std::string{content}}; }

/// Return the rows of a dictionary as values.
rows decoded(detail::dictionary_parts const& parts, shape const& type)
{
  auto const column = cudf::column_view{cudf::data_type{type_id::DICTIONARY32},
                                        parts.indices->size(),
                                        nullptr,
                                        static_cast<cudf::bitmask_type const*>(parts.mask.data()),
                                        parts.null_count,
                                        0,
                                        {parts.indices->view(), parts.keys->view()}};
  expect_invariants(column);
  return read_rows(column, dictionary_of(type));
}

template <typename T>
class HostDictionary : public ::testing::Test {};

using index_types = ::testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(HostDictionary, index_types);

TYPED_TEST(HostDictionary, RowsOfNullKeysBecomeNull)
{
  auto const type    = flat("string");
  auto const keys    = make_column(type, {{}, text("a"), {}, text("bc")});
  auto const indices = integers<TypeParam>(cudf::type_to_id<TypeParam>(), {3, 0, 1, -9, 2, 3});
  auto const mask    = std::uint32_t{0b110111};
  auto const* data   = indices->view().template head<void>();
  auto const masked  = detail::flat_view(indices->type().id(), indices->size(), data, {&mask, 1});
  auto const parts   = detail::drop_null_keys(masked, keys->view(), column_path{}, on_host());
  EXPECT_EQ(decoded(parts, type), (rows{text("bc"), {}, text("a"), {}, {}, text("bc")}));
  EXPECT_EQ(parts.indices->type(), indices->type());
  EXPECT_EQ(read_rows(parts.keys->view(), type), (rows{text("a"), text("bc")}));
}

TYPED_TEST(HostDictionary, UnsignedIndicesMayExceedTheSignedRange)
{
  using unsigned_t   = std::make_unsigned_t<TypeParam>;
  constexpr auto far = unsigned_t{200};
  auto texts         = rows(far + std::size_t{1}, text("a"));
  texts[far]         = text("z");
  texts[0]           = {};
  auto const type    = flat("string");
  auto const keys    = make_column(type, texts);
  auto const indices = integers<unsigned_t>(cudf::type_to_id<unsigned_t>(), {far, 0, 1});
  auto const parts =
    detail::drop_null_keys(indices->view(), keys->view(), column_path{}, on_host());
  EXPECT_EQ(parts.indices->type(), indices->type());
  auto const found = parts.indices->view();
  EXPECT_EQ(found.template data<unsigned_t>()[0], far - 1);
  EXPECT_EQ(found.template data<unsigned_t>()[2], 0);
  EXPECT_EQ(parts.null_count, 1);
}

TYPED_TEST(HostDictionary, IndicesBeyondTheKeysAreRejected)
{
  auto const keys = make_column(flat("string"), {text("a"), {}});
  for (auto const index : {-1, 2}) {
    auto const indices =
      integers<TypeParam>(cudf::type_to_id<TypeParam>(), {0, static_cast<TypeParam>(index)});
    EXPECT_THROW(
      (void)detail::drop_null_keys(indices->view(), keys->view(), column_path{}, on_host()),
      std::invalid_argument);
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
