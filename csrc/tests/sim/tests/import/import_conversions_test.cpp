// SPDX-License-Identifier: Apache-2.0
/// @file
/// Imports convert and sanitize on their stream; the tests count the host's waits.
#include "sim/tests/bridge_test.hpp"
#include "testing/producer.hpp"
#include "testing/release_counter.hpp"

namespace cudf_arrow_bridge::test {
namespace {

class ImportConversions : public bridge_test {
 protected:
  /// Imports a column that a kernel fills late, with a known null count. @return The host waits
  std::uint64_t waits(shape const& type, rows const& values, bool sanitize)
  {
    auto const far      = lasting_stream{};
    auto const consumer = lasting_stream{};
    auto array          = export_rows(type, values, far.get()).to_arrow();
    auto const before   = sim::host_syncs_here();
    auto imported       = import(array, type, consumer.get(), {.sanitize = sanitize});
    auto const result   = sim::host_syncs_here() - before;
    expect_rows(std::move(imported), type, values, consumer.get(), sanitize);
    return result;
  }
};

TEST_F(ImportConversions, OfEveryTypeRunAfterTheUpload)
{
  for (auto const& type : foreign_shapes()) {
    SCOPED_TRACE(type.name);
    for_seeds(4, [&](unsigned seed) {
      auto const stream = lasting_stream{};
      auto const values = samples(type, 40, 25);
      auto const slices = [](int level) { return padding{level == 0 ? 9 : 3, 1}; };
      auto source       = tracked{produce(type, values, {slices, seed % 2 == 0})};
      auto imported     = import(source.array.get(), *make_schema(type).get(), stream.get());
      expect_rows(std::move(imported), type, values, stream.get());
    });
  }
}

TEST_F(ImportConversions, SanitizeAddsOneWaitOnlyForStructsWithNulls)
{
  struct row {
    shape type;
    std::uint64_t expected;
  };

  // Strings and lists need no additional wait, as they wait for their offsets anyway.
  for (auto const& [type, expected] : {row{flat("int32"), 0},
                                       row{dictionary_of(flat("int8")), 0},
                                       row{flat("string"), 0},
                                       row{list_of(flat("int8")), 0},
                                       row{struct_of({flat("int8"), flat("int64")}), 1}}) {
    SCOPED_TRACE(type.name);
    auto const clean = samples(type, 50, 0);
    EXPECT_EQ(waits(type, clean, true), waits(type, clean, false));
    auto with_nulls = clean;
    with_nulls[7]   = {};
    EXPECT_EQ(waits(type, with_nulls, true), waits(type, with_nulls, false) + expected);
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
