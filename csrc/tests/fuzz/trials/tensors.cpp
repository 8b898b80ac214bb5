// SPDX-License-Identifier: Apache-2.0
#include "fuzz/trials/tensors.hpp"

#include "fuzz/allocations.hpp"
#include "fuzz/oracles/value_writer.hpp"
#include "fuzz/oracles/values.hpp"
#include "fuzz/structs/strange.hpp"
#include "fuzz/trials/trial.hpp"
#include "tensor/dlpack_abi.hpp"

#include <cudf_arrow_bridge/memory.hpp>
#include <cudf_arrow_bridge/tensor.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace cudf_arrow_bridge::fuzz {
namespace {

constexpr std::int64_t max_bytes   = std::int64_t{1} << 16;
constexpr std::int64_t max_columns = (std::int64_t{1} << 20) - 1;
constexpr std::int64_t max_rows    = std::numeric_limits<cudf::size_type>::max() - 1;

/// A DLPack tensor and its memory.
struct managed_tensor {
  std::array<std::int64_t, 3> shape{};
  std::array<std::int64_t, 3> strides{};
  tensor_kind kind{};
  std::vector<std::byte> memory;
  DLManagedTensorVersioned managed{};
  int num_deleted{0};

  explicit managed_tensor(random_source& random)
  {
    static constexpr auto bits = std::to_array<std::uint8_t>({8, 16, 32, 64});
    auto& tensor               = managed.dl_tensor;
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
    auto& tensor      = managed.dl_tensor;
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

  [[nodiscard]] bool is_lists() const
  { return kind == tensor_kind::column && managed.dl_tensor.ndim > 1; }

  [[nodiscard]] std::int64_t rows() const { return shape[0]; }

  /// The extent of a dimension; 1 for those that the tensor does not have.
  [[nodiscard]] std::int64_t extent(std::size_t dimension) const
  { return static_cast<std::int32_t>(dimension) < managed.dl_tensor.ndim ? shape[dimension] : 1; }

  /// Number of elements of a row.
  [[nodiscard]] std::int64_t columns() const
  {
    auto result = std::int64_t{};
    return __builtin_mul_overflow(extent(1), extent(2), &result) ? max_rows + 1 : result;
  }

  [[nodiscard]] std::int64_t width() const { return managed.dl_tensor.dtype.bits / 8; }

  [[nodiscard]] bool has_elements() const { return rows() > 0 && columns() > 0; }

  [[nodiscard]] __int128_t position(std::int64_t row, std::int64_t column, std::int64_t third) const
  {
    auto const steps = managed.dl_tensor.strides == nullptr
                         ? std::array{extent(1) * extent(2), extent(2), std::int64_t{1}}
                         : strides;
    return __int128_t{row} * steps[0] + (extent(1) > 1 ? __int128_t{column} * steps[1] : 0) +
           (extent(2) > 1 ? __int128_t{third} * steps[2] : 0);
  }

  /// Least and greatest element position, which are at corners of the tensor.
  [[nodiscard]] std::array<__int128_t, 2> reach() const
  {
    auto result = std::array<__int128_t, 2>{};
    for (auto const row : {std::int64_t{0}, rows() - 1}) {
      for (auto const column : {std::int64_t{0}, extent(1) - 1}) {
        for (auto const third : {std::int64_t{0}, extent(2) - 1}) {
          result[0] = std::min(result[0], position(row, column, third));
          result[1] = std::max(result[1], position(row, column, third));
        }
      }
    }
    return result;
  }

  /// Whether dimensions and type are valid.
  [[nodiscard]] bool is_sound() const
  {
    auto const& tensor = managed.dl_tensor;
    auto const& type   = tensor.dtype;
    auto const is_type =
      type.lanes == 1 && (type.bits == 8 || type.bits == 16 || type.bits == 32 || type.bits == 64);
    return tensor.ndim >= 1 && tensor.ndim <= most_dimensions() && tensor.shape != nullptr &&
           is_type && rows() >= 0 && extent(1) >= 0 && extent(2) >= 0 && rows() <= max_rows &&
           columns() <= (is_lists() ? max_rows : max_columns);
  }

  /// Allocates the memory that a valid tensor claims.
  /// @return False if that would be too much
  [[nodiscard]] bool provide(random_source& random)
  {
    auto& tensor = managed.dl_tensor;
    if (!is_sound()) { return true; }
    // Strides of 0 may claim more elements than there is memory; these are limited too.
    // Lists without elements have offsets.
    auto const sizes = rows() * std::max<std::int64_t>(columns(), is_lists() ? 1 : 0);
    if (sizes > max_bytes) { return false; }
    if (!has_elements()) { return true; }
    auto const [lowest, highest] = reach();
    auto const bytes             = (highest - lowest + 1) * width();
    // Beyond the address space: the import must reject it, so no memory is needed.
    auto const is_unaddressable =
      lowest * width() < -(__int128_t{1} << 47) || highest * width() > (__int128_t{1} << 64);
    if (is_unaddressable) {
      memory.resize(1);
      tensor.data = memory.data();
      return true;
    }
    if (bytes > max_bytes) { return false; }
    memory.resize(static_cast<std::size_t>(bytes));
    for (auto& byte : memory) { byte = static_cast<std::byte>(random.bits()); }
    memory.shrink_to_fit();
    // Element (0, 0) may be anywhere in the memory. Computed with integers, as `data` may lie
    // outside of it.
    auto const first = reinterpret_cast<std::uintptr_t>(memory.data()) -
                       static_cast<std::uintptr_t>(lowest * width()) -
                       static_cast<std::uintptr_t>(tensor.byte_offset);
    tensor.data      = reinterpret_cast<void*>(first);  // NOLINT(performance-no-int-to-ptr)
    return true;
  }

  void write(std::int64_t row, std::int64_t column, std::int64_t third, value_writer& out) const
  {
    auto const index = static_cast<std::int64_t>(position(row, column, third) - reach()[0]);
    auto const* from = memory.data() + index * width();
    auto const& type = managed.dl_tensor.dtype;
    auto bits        = std::uint64_t{0};
    std::memcpy(&bits, from, static_cast<std::size_t>(width()));
    if (type.code == 2) {
      if (width() == 2) { return out.half(static_cast<std::uint16_t>(bits)); }
      if (width() == 4) { return out.real(std::bit_cast<float>(static_cast<std::uint32_t>(bits))); }
      return out.real(std::bit_cast<double>(bits));
    }
    if (type.code == 6) { return out.number(__int128_t{bits != 0}); }
    auto const shift = 64 - type.bits;
    out.number(type.code == 0 ? __int128_t{static_cast<std::int64_t>(bits << shift) >> shift}
                              : __int128_t{bits});
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
  if (!source.is_sound() || (source.has_elements() &&
                             source.memory.size() < 2 * static_cast<std::size_t>(source.width()))) {
    return outcome::imported;
  }
  // Static, to reuse the capacity.
  static auto expected = std::string{};
  static auto actual   = std::string{};
  expected.clear();
  actual.clear();
  auto out             = value_writer{expected};
  auto const row_major = source.is_lists();
  auto const count     = row_major ? source.rows() : source.columns();
  for (std::int64_t i = 0; i < count && source.has_elements(); ++i) {
    for (std::int64_t j = 0; j < (row_major ? source.extent(1) : source.rows()); ++j) {
      for (std::int64_t third = 0; third < source.extent(2); ++third) {
        source.write(row_major ? i : j, row_major ? j : i, third, out);
      }
    }
  }
  for (auto const& column : imported.table.columns) {
    auto const view = column.view();
    if (row_major) {
      for (cudf::size_type row = 0; row <= view.size() && view.size() > 0; ++row) {
        if (view.child(0).begin<std::int32_t>()[row] != row * source.columns()) {
          throw finding{"lists of other lengths than the tensor's rows"};
        }
      }
    }
    read_column(row_major ? view.child(1) : view, actual);
  }
  if (actual != expected) { throw finding{"elements that are not the tensor's"}; }
  for (auto const& column : imported.table.columns) {
    check_invariants(column.view(), {.is_valid = true});
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
  auto const rows    = source.is_sound() ? source.rows() : 0;
  if (heap().bytes_peak > (std::int64_t{1} << 16) + columns * (2048 + rows * 64)) {
    throw finding{std::to_string(heap().bytes_peak) + " bytes allocated for a tensor"};
  }
  return result;
}

}  // namespace cudf_arrow_bridge::fuzz
