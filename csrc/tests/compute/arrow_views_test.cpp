// SPDX-License-Identifier: Apache-2.0
#include "compute/arrow_views.hpp"

#include "compute/on_host.hpp"
#include "testing/columns.hpp"
#include "testing/expect_invariants.hpp"
#include "testing/sample.hpp"
#include "testing/views.hpp"

#include <gtest/gtest.h>
#include <nanoarrow/nanoarrow.h>

#include <limits>
#include <string_view>

namespace cudf_arrow_bridge::test {
namespace {

column_path const top{};
column_path const path{top, "c"};

template <typename T>
std::vector<T> values_of(cudf::column_view const& column)
{ return {column.begin<T>(), column.end<T>()}; }

/// Check that the call fails with an error that contains all `words`.
template <typename Call>
void expect_refused(Call call, std::vector<std::string> const& words)
{
  try {
    call();
    ADD_FAILURE() << "no error";
  } catch (std::invalid_argument const& error) {
    for (auto const& word : words) {
      EXPECT_NE(std::string_view{error.what()}.find(word), std::string_view::npos)
        << error.what() << " without " << word;
    }
  }
}

// -- string views ------------------------------------------------------------------------------

ArrowBinaryView inlined(std::string_view text)
{
  auto view         = ArrowBinaryView{};
  view.inlined.size = static_cast<std::int32_t>(text.size());
  std::copy(text.begin(), text.end(), view.inlined.data);
  return view;
}

ArrowBinaryView reference(std::int32_t size, std::int32_t buffer, std::int32_t offset)
{
  auto view             = ArrowBinaryView{};
  view.ref.size         = size;
  view.ref.buffer_index = buffer;
  view.ref.offset       = offset;
  return view;
}

/// Views over two buffers of 20 and 13 bytes, misaligned by one byte.
struct view_array {
  std::vector<char> memory;
  std::string first{"twenty bytes of text"};
  std::string second{"thirteen more"};
  std::vector<void const*> data{first.data(), second.data()};
  std::vector<std::int64_t> sizes{20, 13};
  detail::view_rows rows{};

  explicit view_array(std::vector<ArrowBinaryView> const& views)
    : memory(1 + views.size() * sizeof(ArrowBinaryView))
  {
    std::memcpy(memory.data() + 1, views.data(), memory.size() - 1);
    rows = {memory.data() + 1,
            0,
            static_cast<cudf::size_type>(views.size()),
            {nullptr, 0},
            data,
            sizes.data()};
  }

  view_array(view_array const&) = delete;

  [[nodiscard]] std::vector<std::string> read() const
  {
    auto const found   = detail::strings_from_views(rows, path, on_host());
    auto const offsets = values_of<std::int32_t>(found.offsets->view());
    auto const* text   = static_cast<char const*>(found.data.data());
    auto result        = std::vector<std::string>{};
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      result.emplace_back(text + offsets[i], text + offsets[i + 1]);
    }
    EXPECT_EQ(static_cast<std::size_t>(offsets.back()), found.data.size());
    return result;
  }
};

TEST(HostStringViews, AreCopiedFromEachBufferInTheOrderOfTheirRows)
{
  auto const array = view_array{
    {reference(13, 1, 0), inlined("twelve bytes"), reference(20, 0, 0), reference(14, 0, 6)}};
  EXPECT_EQ(array.read(),
            (std::vector<std::string>{
              "thirteen more", "twelve bytes", "twenty bytes of text", " bytes of text"}));
}

TEST(HostStringViews, OfNullRowsAreNotRead)
{
  auto array      = view_array{{inlined("a"), reference(1 << 30, 77, -5), inlined("c")}};
  auto const mask = std::uint32_t{0b101};
  array.rows.mask = {&mask, 1};
  EXPECT_EQ(array.read(), (std::vector<std::string>{"a", "", "c"}));
}

TEST(HostStringViews, OutsideTheirBufferAreRejected)
{
  auto const expect = [](ArrowBinaryView const& view, char const* found) {
    auto const array = view_array{{inlined("a"), view}};
    expect_refused([&] { (void)array.read(); }, {"'c'", "row 1", found});
  };
  expect(reference(13, 1, 1), "1 to 14");
  expect(reference(13, 2, 0), "buffer 2");
  expect(reference(13, -1, 0), "buffer -1");
  expect(reference(13, 0, -1), "-1 to 12");
  expect(reference(
           std::numeric_limits<std::int32_t>::max(), 0, std::numeric_limits<std::int32_t>::max()),
         "4294967294");
  expect(reference(-1, 0, 0), "the size of the view is negative: -1");
}

TEST(HostStringViews, OfANullBufferAreRejected)
{
  auto array    = view_array{{reference(13, 1, 0)}};
  array.data[1] = nullptr;
  EXPECT_THROW((void)array.read(), std::invalid_argument);
}

TEST(HostStringViews, OfMoreThan2GiBHave64BitOffsets)
{
  // 16 views of the same 2^27 bytes.
  auto const size  = std::int32_t{1} << 27;
  auto const big   = std::make_unique<char[]>(static_cast<std::size_t>(size));
  auto array       = view_array{std::vector<ArrowBinaryView>(16, reference(size, 0, 0))};
  array.data[0]    = big.get();
  array.sizes[0]   = size;
  auto const found = detail::strings_from_views(array.rows, path, on_host());
  ASSERT_EQ(found.offsets->type().id(), cudf::type_id::INT64);
  EXPECT_EQ(values_of<std::int64_t>(found.offsets->view()).back(), std::int64_t{1} << 31);
}

// -- list views --------------------------------------------------------------------------------

template <typename T>
struct list_array {
  std::vector<T> offsets;
  std::vector<T> sizes;
  std::int64_t num_elements;

  [[nodiscard]] detail::gathered_lists read(detail::row_mask const& mask = {nullptr, 0}) const
  {
    return detail::lists_from_views({offsets.data(),
                                     sizes.data(),
                                     sizeof(T),
                                     0,
                                     static_cast<cudf::size_type>(sizes.size()),
                                     mask,
                                     num_elements},
                                    path,
                                    on_host());
  }
};

template <typename T>
class HostListViews : public ::testing::Test {};

using widths = ::testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(HostListViews, widths);

TYPED_TEST(HostListViews, InOrderAreNotGathered)
{
  // Empty lists may point anywhere.
  auto const lists = list_array<TypeParam>{{9, 3, 0, 5, 1}, {0, 2, 0, 4, 0}, 10}.read();
  EXPECT_EQ(lists.elements, nullptr);
  EXPECT_EQ(lists.first, 3);
  EXPECT_EQ(lists.num_elements, 6);
  EXPECT_EQ(values_of<std::int32_t>(lists.offsets->view()),
            (std::vector<std::int32_t>{0, 0, 2, 2, 6, 6}));
}

TYPED_TEST(HostListViews, OutOfOrderOrOverlappingAreGathered)
{
  auto const lists = list_array<TypeParam>{{5, 3, 4}, {2, 2, 3}, 10}.read();
  ASSERT_NE(lists.elements, nullptr);
  EXPECT_EQ(lists.first, 3);
  EXPECT_EQ(lists.num_elements, 4);
  EXPECT_EQ(values_of<std::int32_t>(lists.offsets->view()),
            (std::vector<std::int32_t>{0, 2, 4, 7}));
  EXPECT_EQ(values_of<std::int32_t>(lists.elements->view()),
            (std::vector<std::int32_t>{2, 3, 0, 1, 1, 2, 3}));
}

TYPED_TEST(HostListViews, OfNullRowsAreEmptyAndNotRead)
{
  auto const mask  = std::uint32_t{0b101};
  auto const lists = list_array<TypeParam>{{0, -7, 1}, {1, 100, 1}, 2}.read({&mask, 1});
  EXPECT_EQ(values_of<std::int32_t>(lists.offsets->view()),
            (std::vector<std::int32_t>{0, 1, 1, 2}));
  EXPECT_EQ(lists.elements, nullptr);
}

TYPED_TEST(HostListViews, OutsideTheElementsAreRejected)
{
  constexpr auto most = std::numeric_limits<TypeParam>::max();
  for (auto const& [offset, size] : {std::pair<TypeParam, TypeParam>{9, 2},
                                     {11, 0},
                                     {-1, 1},
                                     {0, -1},
                                     {0, 11},
                                     {most, most},
                                     {1, most}}) {
    auto const lists = list_array<TypeParam>{{0, offset}, {1, size}, 10};
    expect_refused([&] { (void)lists.read(); }, {"'c'", "row 1", "of 10"});
  }
}

TEST(HostLargeListViews, AcceptOffsetsAbove32Bits)
{
  constexpr auto far = std::int64_t{1} << 40;
  auto const lists   = list_array<std::int64_t>{{far, far + 2}, {2, 1}, far + 10}.read();
  EXPECT_EQ(lists.elements, nullptr);
  EXPECT_EQ(lists.first, far);
  EXPECT_EQ(lists.num_elements, 3);
}

TEST(HostLargeListViews, OfMoreElementsThanAColumnHoldsOverflow)
{
  constexpr auto most = std::int64_t{1} << 40;
  EXPECT_THROW((void)(list_array<std::int64_t>{{0, 5}, {most, 1}, most}.read()),
               std::overflow_error);
  EXPECT_THROW((void)(list_array<std::int64_t>{{most, 0}, {1, 1}, most + 1}.read()),
               std::overflow_error);
}

// -- runs --------------------------------------------------------------------------------------

template <typename T>
std::vector<std::int32_t> runs_of(std::vector<T> const& ends,
                                  std::int64_t begin,
                                  cudf::size_type size)
{
  auto const found = detail::host::runs_of_rows(
    {ends.data(), sizeof(T), std::ssize(ends), begin, size}, path, on_host());
  return values_of<std::int32_t>(found->view());
}

template <typename T>
class HostRuns : public ::testing::Test {};

using run_ends = ::testing::Types<std::int16_t, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(HostRuns, run_ends);

TYPED_TEST(HostRuns, ThatEndTooEarlyAreRejected)
{
  for (auto const& ends : {std::vector<TypeParam>{1, 4}, {}, {4, 3, 2, 1}, {-1, -1}}) {
    expect_refused([&] { (void)runs_of(ends, 1, 4); }, {"'c'", "row", "runs"});
  }
}

/// Runs of 0 to 70 rows, and the run of each row.
struct random_runs {
  std::vector<std::int32_t> ends;
  std::vector<std::int32_t> run_of_row;

  explicit random_runs(engine& random)
  {
    while (run_of_row.size() < 700) {
      auto const size = below(random, 4) == 0 ? 0 : below(random, 70) + 1;
      run_of_row.insert(
        run_of_row.end(), static_cast<std::size_t>(size), static_cast<std::int32_t>(ends.size()));
      ends.push_back(static_cast<std::int32_t>(run_of_row.size()));
    }
  }
};

TEST(HostRunsOfValues, AreRepeated)
{
  auto random = engine{3};
  for (auto const& type : nested_shapes()) {
    for (auto const null_percent : {0, 30, 100}) {
      auto const runs   = random_runs{random};
      auto const values = samples(type, runs.ends.size() + 2, null_percent);
      auto const column = make_column(type, values);
      // Runs 0, 1, ... are rows 2, 3, ... of the column.
      auto const source = slice(column->view(), 2, static_cast<cudf::size_type>(values.size()));
      for (auto const begin : {0, 1, 63, 64, 65, 300}) {
        for (auto const size : {0, 1, 63, 64, 65, 128, 400}) {
          auto const found = detail::repeat_runs(
            source, {runs.ends.data(), 4, std::ssize(runs.ends), begin, size}, path, on_host());
          auto expected = rows{};
          for (auto row = begin; row < begin + size; ++row) {
            auto const run = runs.run_of_row[static_cast<std::size_t>(row)];
            expected.push_back(values[static_cast<std::size_t>(run) + 2]);
          }
          ASSERT_EQ(read_rows(found->view(), type), expected) << "from " << begin;
          expect_invariants(*found);
        }
      }
    }
  }
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
