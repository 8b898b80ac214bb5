// SPDX-License-Identifier: Apache-2.0
#include "fuzz/allocations.hpp"
#include "fuzz/oracle.hpp"
#include "fuzz/strange.hpp"
#include "fuzz/trials.hpp"
#include "tensor/dlpack_abi.hpp"

#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/tensor.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace cudf_arrow_bridge::fuzz {
namespace {

constexpr std::int64_t max_bytes   = std::int64_t{1} << 16;
constexpr std::int64_t max_columns = (std::int64_t{1} << 20) - 1;
constexpr std::int64_t max_rows    = std::numeric_limits<cudf::size_type>::max() - 1;

/// A DLPack tensor of at most three dimensions, and its memory.
struct managed_tensor {
  using numbers = std::array<std::int64_t, 3>;

  numbers shape{};
  numbers strides{};
  tensor_kind kind{};
  std::vector<std::byte> memory;
  DLManagedTensorVersioned managed{};
  DLTensor& tensor{managed.dl_tensor};
  int num_deleted{0};

  explicit managed_tensor(random_source& random)
  {
    static constexpr auto bits = std::to_array<std::uint8_t>({8, 16, 32, 64});
    kind                       = random.percent(50) ? tensor_kind::table : tensor_kind::column;
    tensor.ndim                = 1 + static_cast<std::int32_t>(random.below(most_dimensions()));
    tensor.device              = {ARROW_DEVICE_CPU, 0};
    tensor.dtype               = {static_cast<std::uint8_t>(random.below(3)), random.pick(bits), 1};
    if (random.percent(10)) { tensor.dtype = {6, 8, 1}; }
    shape   = {random.below(20), random.below(6), random.below(4)};
    strides = {random.below(7) - 3, random.below(60) - 30, random.below(9) - 4};
    if (random.percent(40)) { strides = {1, shape[0] + random.below(3), 1}; }
    managed.version     = {1, static_cast<std::uint32_t>(random.below(3))};
    managed.manager_ctx = this;
    managed.deleter     = [](DLManagedTensorVersioned* self) {
      ++static_cast<managed_tensor*>(self->manager_ctx)->num_deleted;
    };
    tensor.shape   = shape.data();
    tensor.strides = random.percent(30) ? nullptr : strides.data();
  }

  managed_tensor(managed_tensor const&)            = delete;
  managed_tensor& operator=(managed_tensor const&) = delete;

  void mutate(random_source& random)
  {
    auto const number = random.percent(30) ? random.below(100) : random.pick(strange_numbers);
    switch (random.below(11)) {
      case 0:
      case 1: random.pick(shape) = number; break;
      case 2:
      case 3: random.pick(strides) = number; break;
      case 4:
        // The import reads as many extents as NumPy's limit of dimensions allows.
        tensor.ndim = static_cast<std::int32_t>(number > 3 && number <= 64 ? 65 : number);
        break;
      case 5: tensor.shape = nullptr; break;
      case 6: tensor.byte_offset = static_cast<std::uint64_t>(number); break;
      case 7: tensor.dtype.bits = static_cast<std::uint8_t>(number); break;
      case 8: tensor.dtype.code = static_cast<std::uint8_t>(number); break;
      case 9: tensor.dtype.lanes = static_cast<std::uint16_t>(number); break;
      default:
        tensor.device = {static_cast<std::int32_t>(number), static_cast<std::int32_t>(number)};
    }
  }

  [[nodiscard]] std::int64_t most_dimensions() const { return kind == tensor_kind::table ? 2 : 3; }

  [[nodiscard]] bool is_lists() const { return kind == tensor_kind::column && tensor.ndim > 1; }

  /// The extents; 1 for dimensions that the tensor does not have.
  [[nodiscard]] numbers extents() const
  { return {shape[0], tensor.ndim > 1 ? shape[1] : 1, tensor.ndim > 2 ? shape[2] : 1}; }

  /// Number of elements of a row.
  [[nodiscard]] std::int64_t columns() const
  {
    auto result = std::int64_t{};
    return __builtin_mul_overflow(extents()[1], extents()[2], &result) ? max_rows + 1 : result;
  }

  [[nodiscard]] std::int64_t width() const { return tensor.dtype.bits / 8; }

  [[nodiscard]] bool has_elements() const { return shape[0] > 0 && columns() > 0; }

  /// Position of an element, relative to the first one.
  [[nodiscard]] __int128_t position(numbers const& index) const
  {
    auto const steps = tensor.strides != nullptr ? strides : numbers{columns(), extents()[2], 1};
    return __int128_t{index[0]} * steps[0] + __int128_t{index[1]} * steps[1] +
           __int128_t{index[2]} * steps[2];
  }

  /// Least and greatest position, which is the sum of those in each dimension.
  [[nodiscard]] std::array<__int128_t, 2> reach() const
  {
    auto result = std::array<__int128_t, 2>{};
    for (std::size_t i = 0; i < shape.size(); ++i) {
      auto last      = numbers{};
      last[i]        = extents()[i] - 1;
      auto const end = position(last);
      result[end > 0 ? 1 : 0] += end;
    }
    return result;
  }

  /// Whether dimensions and type are valid.
  [[nodiscard]] bool is_sound() const
  {
    auto const& type = tensor.dtype;
    return tensor.ndim >= 1 && tensor.ndim <= most_dimensions() && tensor.shape != nullptr &&
           type.lanes == 1 && type.bits >= 8 && type.bits <= 64 && std::has_single_bit(type.bits) &&
           std::ranges::min(extents()) >= 0 && shape[0] <= max_rows &&
           columns() <= (is_lists() ? max_rows : max_columns);
  }

  /// Allocates the memory that a valid tensor claims.
  /// @return False if that would be too much
  [[nodiscard]] bool provide(random_source& random)
  {
    if (!is_sound()) { return true; }
    // Strides of 0 may claim more elements than there is memory; these are limited too.
    // Lists without elements have offsets.
    if (shape[0] * std::max<std::int64_t>(columns(), is_lists() ? 1 : 0) > max_bytes) {
      return false;
    }
    if (!has_elements()) { return true; }
    auto const [lowest, highest] = reach();
    // Beyond the address space: the import must reject it, so no memory is needed.
    if (lowest * width() < -(__int128_t{1} << 47) || highest * width() > (__int128_t{1} << 64)) {
      memory.resize(1);
      tensor.data = memory.data();
      return true;
    }
    auto const bytes = (highest - lowest + 1) * width();
    if (bytes > max_bytes) { return false; }
    memory = std::vector<std::byte>(static_cast<std::size_t>(bytes));
    // No half-precision NaN, whose payload a conversion may change.
    auto const kept_bits = is_half() ? std::byte{0xbf} : std::byte{0xff};
    for (auto& byte : memory) { byte = static_cast<std::byte>(random.bits()) & kept_bits; }
    // Element (0, 0) may be anywhere in the memory. Computed with integers, as `data` may lie
    // outside of it.
    auto const first = reinterpret_cast<std::uintptr_t>(memory.data()) -
                       static_cast<std::uintptr_t>(lowest * width()) -
                       static_cast<std::uintptr_t>(tensor.byte_offset);
    tensor.data      = reinterpret_cast<void*>(first);  // NOLINT(performance-no-int-to-ptr)
    return true;
  }

  [[nodiscard]] bool is_half() const { return tensor.dtype.code == 2 && width() == 2; }

  /// An element as `test::read_rows` reads it from a column.
  [[nodiscard]] test::value element(numbers const& index) const
  {
    auto const first = static_cast<std::int64_t>(position(index) - reach()[0]) * width();
    auto bits        = std::uint64_t{0};
    std::memcpy(&bits, memory.data() + first, static_cast<std::size_t>(width()));
    if (tensor.dtype.code == 6) { return test::number(bits != 0 ? 1 : 0); }
    if (is_half()) {
      return test::number(std::bit_cast<std::uint32_t>(to_float(static_cast<std::uint16_t>(bits))));
    }
    auto const shift = 64 - tensor.dtype.bits;
    return tensor.dtype.code == 0 ? test::number(static_cast<std::int64_t>(bits << shift) >> shift)
                                  : test::number(bits);
  }

  /// All elements: rows of lists one after the other, otherwise columns.
  [[nodiscard]] test::rows elements() const
  {
    auto result                      = test::rows{};
    auto const [rows, second, third] = extents();
    auto const outer                 = is_lists() ? rows : second;
    auto const inner                 = is_lists() ? second : rows;
    for (std::int64_t i = 0; i < outer; ++i) {
      for (std::int64_t j = 0; j < inner; ++j) {
        for (std::int64_t k = 0; k < third; ++k) {
          result.push_back(element(is_lists() ? numbers{i, j, k} : numbers{j, i, k}));
        }
      }
    }
    return result;
  }
};

outcome import_and_compare(managed_tensor& source, random_source& random)
{
  auto const policy   = random.percent(70)   ? copy_policy::as_needed
                        : random.percent(50) ? copy_policy::never
                                             : copy_policy::always;
  auto const imported = from_dlpack(
    &source.managed, policy, cuda::stream_ref{cudaStream_t{}}, host_memory_resource(), source.kind);
  auto const examined       = uncounted{};
  heap().news_until_failure = -1;
  auto const is_addressable =
    !source.has_elements() || source.memory.size() >= static_cast<std::size_t>(source.width());
  if (!source.is_sound() || !is_addressable) { return outcome::imported; }
  auto found = test::rows{};
  for (auto const& column : imported.table.columns) {
    auto const view = column.view();
    check_invariants(view, {});
    for (cudf::size_type row = 0; source.is_lists() && row < view.size(); ++row) {
      if (view.child(0).begin<std::int32_t>()[row + 1] != (row + 1) * source.columns()) {
        throw finding{"lists of other lengths than the tensor's rows"};
      }
    }
    read_column(source.is_lists() ? view.child(1) : view, found);
  }
  if (source.has_elements() && found != source.elements()) {
    throw finding{"elements that are not the tensor's"};
  }
  return outcome::equal;
}

}  // namespace

outcome import_tensor_once(random_source& random, std::int64_t news_until_failure)
{
  auto source = managed_tensor{random};
  for (auto changes = random.below(3); changes > 0; --changes) { source.mutate(random); }
  if (!source.provide(random)) { return outcome::not_provided; }
  heap().start(news_until_failure);
  auto const result =
    judge(news_until_failure >= 0, [&] { return import_and_compare(source, random); });
  check_nothing_is_left();
  if (source.num_deleted != 1) {
    throw finding{"a tensor deleted " + std::to_string(source.num_deleted) + " times"};
  }
  // A bound for each column and for each element.
  auto const columns = source.is_sound() ? source.columns() : 0;
  auto const rows    = source.is_sound() ? source.shape[0] : 0;
  if (heap().bytes_peak > (std::int64_t{1} << 16) + columns * (2048 + rows * 64)) {
    throw finding{std::to_string(heap().bytes_peak) + " bytes allocated for a tensor"};
  }
  return result;
}

}  // namespace cudf_arrow_bridge::fuzz
