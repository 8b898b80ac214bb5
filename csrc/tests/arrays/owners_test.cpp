// SPDX-License-Identifier: Apache-2.0
#include <cudf_arrow_bridge/owners.hpp>

#include <gtest/gtest.h>

namespace cudf_arrow_bridge::test {
namespace {

/// The struct with the `release` member: `ArrowDeviceArray` has it in its `array`.
template <typename Struct>
auto& base(Struct& value)
{
  if constexpr (requires { value.array; }) {
    return value.array;
  } else {
    return value;
  }
}

template <typename Struct>
class Owner : public ::testing::Test {
 protected:
  int released{0};

  Struct live()
  {
    auto result               = Struct{};
    base(result).private_data = &released;
    base(result).release      = [](auto* self) {
      ++*static_cast<int*>(self->private_data);
      self->release = nullptr;
    };
    return result;
  }
};

using structs = ::testing::Types<ArrowSchema, ArrowArray, ArrowDeviceArray>;
TYPED_TEST_SUITE(Owner, structs);

TYPED_TEST(Owner, IsReleasedIfItIsEmpty)
{
  auto owner = unique_struct<TypeParam>{};
  EXPECT_TRUE(owner.is_released());
  owner.reset();
  EXPECT_TRUE(owner.is_released());
}

TYPED_TEST(Owner, ReleasesOnceOnDestruction)
{
  auto source = this->live();
  {
    auto const owner = unique_struct<TypeParam>{&source};
    EXPECT_EQ(base(source).release, nullptr) << "the source is marked as released";
    EXPECT_FALSE(owner.is_released());
  }
  EXPECT_EQ(this->released, 1);
}

TYPED_TEST(Owner, MovesTransferOwnership)
{
  auto source = this->live();
  auto first  = unique_struct<TypeParam>{&source};
  auto second = std::move(first);
  EXPECT_TRUE(first.is_released());
  first = std::move(second);
  EXPECT_TRUE(second.is_released());
  EXPECT_EQ(this->released, 0);
  auto* const self = &first;
  first            = std::move(*self);
  EXPECT_FALSE(first.is_released());

  auto other = this->live();
  first      = unique_struct<TypeParam>{&other};
  EXPECT_EQ(this->released, 1) << "what the target held before";
  EXPECT_FALSE(first.is_released());
}

TYPED_TEST(Owner, MoveToTransfersTheStruct)
{
  auto source = this->live();
  auto target = TypeParam{};
  {
    auto owner = unique_struct<TypeParam>{&source};
    owner.move_to(&target);
    EXPECT_TRUE(owner.is_released());
  }
  EXPECT_EQ(this->released, 0);
  ASSERT_NE(base(target).release, nullptr);
  base(target).release(&base(target));
  EXPECT_EQ(this->released, 1);
}

/// A callback that does not set `release` to null is still called only once.
TYPED_TEST(Owner, CallsOnceACallbackThatDoesNotClearItself)
{
  auto source          = this->live();
  base(source).release = [](auto* self) { ++*static_cast<int*>(self->private_data); };
  auto owner           = unique_struct<TypeParam>{&source};
  owner.reset();
  owner.reset();
  EXPECT_TRUE(owner.is_released());
  EXPECT_EQ(this->released, 1);
}

}  // namespace
}  // namespace cudf_arrow_bridge::test
