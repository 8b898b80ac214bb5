// SPDX-License-Identifier: Apache-2.0
#include "testing/consumer.hpp"

#include <cudf_arrow_bridge/export.hpp>
#include <cudf_arrow_bridge/import.hpp>
#include <cudf_arrow_bridge/schema.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <utility>

namespace {

std::atomic<std::int64_t> num_live{0};
std::atomic<std::int64_t> num_made{0};
thread_local std::int64_t until_failure = -1;  ///< -1: never

/// nanoarrow 0.8 does not check the allocation of an array's buffer pointers: it never fails here.
constexpr auto unchecked = std::int64_t{NANOARROW_MAX_FIXED_BUFFERS * sizeof(void*)};

bool must_fail(std::int64_t size)
{ return size != unchecked && until_failure >= 0 && until_failure-- == 0; }

}  // namespace

// The linker calls these instead of nanoarrow's functions, whose names are then `__real_...`.
extern "C" {
void* __real_cudfArrowMalloc(std::int64_t size);
void* __real_cudfArrowRealloc(void* memory, std::int64_t size);
void __real_cudfArrowFree(void* memory);

void* __wrap_cudfArrowMalloc(std::int64_t size)
{
  if (must_fail(size)) { return nullptr; }
  ++num_live;
  ++num_made;
  return __real_cudfArrowMalloc(size);
}

void* __wrap_cudfArrowRealloc(void* memory, std::int64_t size)
{
  if (memory == nullptr) { ++num_live; }
  return __real_cudfArrowRealloc(memory, size);
}

void __wrap_cudfArrowFree(void* memory)
{
  if (memory != nullptr) { --num_live; }
  __real_cudfArrowFree(memory);
}
}

namespace cudf_arrow_bridge::test {
namespace {

/// Calls `make` repeatedly: first its first allocation fails, then the second one, and so on, until
/// all succeed. Fails the test if a failed call leaks.
template <typename Make>
void expect_no_loss(std::int64_t at_least, Make make)
{
  auto const before = num_live.load();
  for (std::int64_t granted = 0;; ++granted) {
    until_failure = granted;
    try {
      make();
    } catch (std::bad_alloc const&) {
      ASSERT_EQ(until_failure, -1);
    }
    auto const is_done = std::exchange(until_failure, -1) >= 0;
    ASSERT_EQ(num_live, before) << "after " << granted << " allocations";
    if (is_done) {
      EXPECT_GE(granted, at_least);
      return;
    }
  }
}

class WithoutMemory : public ::testing::Test {
 protected:
  shape type{struct_of({flat("int32"),
                        list_of(flat("string")),
                        dictionary_of(flat("string")),
                        list_of(struct_of({flat("int8"), flat("int16")}))})};
  rows values{samples(type, 20, 30)};
  std::unique_ptr<cudf::column> column{make_column(type, values)};
  column_metadata metadata{.name = "a", .metadata = {{"key", "value"}}};
};

TEST_F(WithoutMemory, AFailedArrayExportLeaksNothing)
{
  auto dropped = 0;
  auto owner   = std::shared_ptr<void const>{this, [&](void const*) { ++dropped; }};
  auto handle  = to_arrow_device(
    column->view(), std::move(owner), export_options{}, stream(), host_memory_resource());
  expect_no_loss(20, [&] { (void)handle.to_arrow(); });
  expect_no_loss(4, [&] { (void)handle.child(1).to_arrow(); });
  EXPECT_EQ(dropped, 0);
  EXPECT_EQ(read_arrow(handle.to_arrow()->array, type), values);
  handle.reset();
  EXPECT_EQ(dropped, 1);
}

TEST_F(WithoutMemory, AFailedSchemaExportLeaksNothing)
{
  expect_no_loss(25, [&] { (void)cudf_arrow_bridge::make_schema(*column, metadata); });
  auto const shared = cudf_arrow_bridge::make_schema(*column, metadata);
  expect_no_loss(25, [&] { (void)shared.to_arrow(); });
  auto const whole = shared.to_arrow();
  expect_no_loss(25, [&] { (void)copy_schema(*whole.get()); });
  EXPECT_TRUE(equal_schemas(*copy_schema(*whole.get()).to_arrow().get(), *whole.get()));
}

TEST_F(WithoutMemory, AnImporterCopiesItsSchemaOnce)
{
  auto const schema   = cudf_arrow_bridge::make_schema(*column, metadata).to_arrow();
  auto const before   = num_made.load();
  auto const copy     = copy_schema(*schema.get());
  auto const once     = num_made.load() - before;
  auto const importer = array_importer{*schema.get()};
  EXPECT_EQ(num_made.load() - before, 2 * once);
}

TEST_F(WithoutMemory, AFailedSchemaOfMapsLeaksNothing)
{
  auto const pairs  = list_of(struct_of({flat("string"), flat("int64")}));
  auto const lists  = make_column(pairs, samples(pairs, 5, 0));
  auto const wanted = make_schema(map_of(flat("string"), flat("int64")));
  expect_no_loss(10, [&] { (void)cudf_arrow_bridge::make_schema(*lists, {}, wanted.get()); });
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
