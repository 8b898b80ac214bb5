// SPDX-License-Identifier: Apache-2.0
#include "compute/device/buffers.hpp"

#include "compute/bits_on_device.hpp"
#include "compute/buffers.hpp"
#include "compute/device/aligned_bytes.hpp"
#include "compute/device/mask_words.hpp"
#include "cuda/location/location.hpp"
#include "cuda/transfer/staging.hpp"

// clang-format off
#include <variant>  // before libcudf's transform.hpp, which uses it without including it
// clang-format on

#include <cudf/aggregation.hpp>
#include <cudf/binaryop.hpp>
#include <cudf/column/column.hpp>
#include <cudf/copying.hpp>
#include <cudf/filling.hpp>
#include <cudf/null_mask.hpp>
#include <cudf/reduction.hpp>
#include <cudf/reshape.hpp>
#include <cudf/scalar/scalar.hpp>
#include <cudf/table/table.hpp>
#include <cudf/table/table_view.hpp>
#include <cudf/transform.hpp>
#include <cudf/unary.hpp>
#include <cudf/utilities/type_dispatcher.hpp>

#include <rmm/detail/error.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace cudf_arrow_bridge::detail::device {
namespace {

/// Several masks copied into one buffer.
struct joined_masks {
  rmm::device_buffer bits;
  std::vector<cudf::size_type> indices;  ///< begin and end bit of each range
};

/// Joins as many leading ranges as fit: bit indices must not exceed `cudf::size_type`. Adjacent
/// ranges of one mask, such as those of batches, are copied together.
joined_masks join(std::span<bit_range const> ranges, execution const& exec)
{
  constexpr auto step = std::int64_t{sizeof(cudf::bitmask_type)};
  constexpr auto most = std::int64_t{std::numeric_limits<cudf::size_type>::max()} / 8;
  struct mask_copy {
    void const* mask;
    std::int64_t first;   ///< first byte of the mask
    std::int64_t target;  ///< target byte of the result
    std::int64_t size;    ///< bytes

    [[nodiscard]] std::int64_t end() const { return target + (size + step - 1) / step * step; }
  };
  auto indices = std::vector<cudf::size_type>{};
  auto copies  = std::vector<mask_copy>{};
  for (auto const& [mask, begin, rows] : ranges) {
    auto const goes_on = !copies.empty() && copies.back().mask == mask &&
                         begin / 8 >= copies.back().first &&
                         begin / 8 <= copies.back().first + copies.back().size;
    auto copy = goes_on ? copies.back()
                        : mask_copy{mask, begin / 8, copies.empty() ? 0 : copies.back().end(), 0};
    copy.size = std::max(copy.size, bytes_for_bits(begin + rows) - copy.first);
    if (copy.end() > most) { break; }
    if (goes_on) { copies.pop_back(); }
    copies.push_back(copy);
    auto const first = (copy.target - copy.first) * 8 + begin;
    indices.push_back(static_cast<cudf::size_type>(first));
    indices.push_back(static_cast<cudf::size_type>(first + rows));
  }
  auto result = device::zeros(copies.empty() ? 0 : copies.back().end(), exec);
  for (auto const& copy : copies) {
    RMM_CUDA_TRY(cudaMemcpyAsync(static_cast<std::byte*>(result.data()) + copy.target,
                                 static_cast<std::byte const*>(copy.mask) + copy.first,
                                 static_cast<std::size_t>(copy.size),
                                 cudaMemcpyDefault,
                                 exec.stream.get()));
  }
  return {std::move(result), std::move(indices)};
}

rmm::device_buffer take_data(std::unique_ptr<cudf::column> column)
{ return std::move(*column->release().data); }

/// Copies host memory to a new buffer.
rmm::device_buffer upload(void const* source, std::size_t size, execution const& exec)
{
  auto result = rmm::device_buffer{size, exec.stream, exec.mr};
  auto copies = host_upload{size, exec.stream};
  copies.copy(result.data(), source, size, size);
  copies.finish();
  return result;
}

/// A column of `count` equal values. libcudf's functions on scalars could create it, but they
/// synchronize.
template <typename T>
std::unique_ptr<cudf::column> constant(T value, std::int64_t count, execution const& exec)
{
  auto const buffer = upload(&value, sizeof value, exec);
  auto const view   = flat_view(cudf::type_to_id<T>(), 1, buffer.data());
  auto result       = cudf::repeat(
    cudf::table_view{{view}}, static_cast<cudf::size_type>(count), exec.stream, exec.mr);
  return std::move(result->release().front());
}

/// The INT32 sequence begin, begin + step, ... of `count` values.
std::unique_ptr<cudf::column> sequence(cudf::size_type begin,
                                       cudf::size_type step,
                                       cudf::size_type count,
                                       execution const& exec)
{
  auto const scalar = [&](cudf::size_type value) {
    return cudf::numeric_scalar<cudf::size_type>{value, true, exec.stream, exec.scratch().mr};
  };
  return cudf::sequence(count, scalar(begin), scalar(step), exec.stream, exec.mr);
}

/// The words of a mask. They are copied if the allocation ends within the last word, because
/// libcudf reads it whole.
class whole_words {
 public:
  whole_words(mask_words const& mask, execution const& exec)
    : copy_{0, exec.stream, exec.scratch().mr}, first_{mask.words}
  {
    constexpr auto width = std::int64_t{sizeof(cudf::bitmask_type)};
    auto const size      = bytes_for_bits(mask.end());
    auto const whole     = (size + width - 1) / width * width;
    if (!ends_before(first_, static_cast<std::size_t>(whole))) { return; }
    copy_  = copy_zero_padded(first_, size, 0, whole, exec.scratch());
    first_ = static_cast<cudf::bitmask_type const*>(copy_.data());
  }

  [[nodiscard]] cudf::bitmask_type const* data() const { return first_; }

 private:
  rmm::device_buffer copy_;
  cudf::bitmask_type const* first_;
};

/// Calls `make` for each part of a range, and concatenates the results.
template <typename Make>
rmm::device_buffer join_parts(bit_range const& range, execution const& exec, Make make)
{
  auto const parts = mask_words_of(range);
  if (parts.size() == 1) { return make(parts.front(), exec); }
  auto buffers = std::vector<rmm::device_buffer>{};
  auto size    = std::size_t{0};
  for (auto const& part : parts) {
    size += buffers.emplace_back(make(part, exec.scratch())).size();
  }
  auto result = rmm::device_buffer{size, exec.stream, exec.mr};
  auto* next  = static_cast<std::byte*>(result.data());
  for (auto const& part : buffers) {
    RMM_CUDA_TRY(
      cudaMemcpyAsync(next, part.data(), part.size(), cudaMemcpyDefault, exec.stream.get()));
    next += part.size();
  }
  return result;
}

}  // namespace

rmm::device_buffer unpack_bools(bit_range const& range, execution const& exec)
{
  return join_parts(range, exec, [](mask_words const& mask, execution const& at) {
    auto const words = whole_words{mask, at};
    return take_data(cudf::mask_to_bools(words.data(), mask.begin, mask.end(), at.stream, at.mr));
  });
}

rmm::device_buffer greatest_byte(void const* bytes, cudf::size_type size, execution const& exec)
{
  auto const type     = cudf::data_type{cudf::type_id::UINT8};
  auto const greatest = cudf::reduce(flat_view(type.id(), size, bytes),
                                     *cudf::make_max_aggregation<cudf::reduce_aggregation>(),
                                     type,
                                     exec.stream,
                                     exec.scratch().mr);
  auto const* value   = static_cast<cudf::numeric_scalar<std::uint8_t> const&>(*greatest).data();
  return copy_bytes(value, 1, exec);
}

rmm::device_buffer length_range(offset_range const& offsets, execution const& exec)
{
  auto const type    = cudf::data_type{offsets.type};
  auto const width   = cudf::size_of(type);
  auto const lists   = offsets.count - 1;
  auto const bytes   = static_cast<std::int64_t>(width) * offsets.count;
  auto const copied  = aligned_bytes{offsets.first, bytes, static_cast<std::int64_t>(width), exec};
  auto const* first  = static_cast<std::byte const*>(copied.data());
  auto const lengths = combine(cudf::binary_operator::SUB,
                               flat_view(type.id(), lists, first + width),
                               flat_view(type.id(), lists, first),
                               type.id(),
                               exec.scratch());
  auto const [least, greatest] =
    cudf::minmax(flat_view(type.id(), lists, lengths.data()), exec.stream, exec.scratch().mr);
  auto result      = rmm::device_buffer{2 * width, exec.stream, exec.mr};
  auto const store = [&](cudf::scalar const& value, std::size_t begin) {
    auto const* source = type.id() == cudf::type_id::INT64
                           ? static_cast<void const*>(
                               static_cast<cudf::numeric_scalar<std::int64_t> const&>(value).data())
                           : static_cast<cudf::numeric_scalar<std::int32_t> const&>(value).data();
    auto* target       = static_cast<std::byte*>(result.data()) + begin;
    RMM_CUDA_TRY(cudaMemcpyAsync(target, source, width, cudaMemcpyDefault, exec.stream.get()));
  };
  store(*least, 0);
  store(*greatest, width);
  return result;
}

rmm::device_buffer copy_bits(bit_range const& range, execution const& exec)
{
  return join_parts(range, exec, [](mask_words const& mask, execution const& at) {
    if (mask.begin > 0) {
      auto const words = whole_words{mask, at};
      return cudf::copy_bitmask(words.data(), mask.begin, mask.end(), at.stream, at.mr);
    }
    // libcudf would read whole blocks of 64 bytes, which the producer may not have allocated.
    return copy_zero_padded(
      mask.words, bytes_for_bits(mask.size), 0, padded_mask_size(mask.size), at);
  });
}

void clear_bits_after(rmm::device_buffer& bits, std::int64_t size, execution const& exec)
{
  constexpr auto word_bits = cudf::size_type{32};
  auto const used          = static_cast<cudf::size_type>(size % word_bits);
  if (used == 0) { return; }
  auto* const last = static_cast<cudf::bitmask_type*>(bits.data()) + size / word_bits;
  cudf::set_null_mask(last, used, word_bits, false, exec.stream);
}

cudf::size_type count_nulls(bit_range const& range, execution const& exec)
{
  auto count = cudf::size_type{0};
  for (auto const& mask : mask_words_of(range)) {
    auto const words = whole_words{mask, exec};
    count += cudf::null_count(words.data(), mask.begin, mask.end(), exec.stream);
  }
  return count;
}

std::vector<cudf::size_type> count_nulls(std::span<bit_range const> ranges, execution const& exec)
{
  // `segmented_null_count` counts any number of ranges of one mask, so copy the masks into one.
  auto result = std::vector<cudf::size_type>{};
  result.reserve(ranges.size());
  while (result.size() < ranges.size()) {
    auto const left   = ranges.subspan(result.size());
    auto const joined = join(left, exec.scratch());
    if (joined.indices.empty()) {
      result.push_back(device::count_nulls(left.front(), exec));
      continue;
    }
    auto const counts = cudf::segmented_null_count(
      static_cast<cudf::bitmask_type const*>(joined.bits.data()), joined.indices, exec.stream);
    result.insert(result.end(), counts.begin(), counts.end());
  }
  return result;
}

bool nulls_within(bit_range const& inner, bit_range const& outer, execution const& exec)
{
  using masks  = cudf::host_span<cudf::bitmask_type const* const>;
  using begins = cudf::host_span<cudf::size_type const>;
  auto both    = cudf::size_type{0};
  for (auto done = std::int64_t{0}; done < inner.size; done += most_bits_of_part) {
    auto const size  = std::min(inner.size - done, most_bits_of_part);
    auto const left  = mask_words_of({inner.bits, inner.begin + done, size}).front();
    auto const right = mask_words_of({outer.bits, outer.begin + done, size}).front();
    auto const first = whole_words{left, exec};
    auto const other = whole_words{right, exec};
    auto const words = std::array{first.data(), other.data()};
    auto const bits  = std::array{left.begin, right.begin};
    both += cudf::bitmask_and(masks{words.data(), words.size()},
                              begins{bits.data(), bits.size()},
                              left.size,
                              exec.stream,
                              exec.scratch().mr)
              .second;
  }
  return both == device::count_nulls(outer, exec);
}

rmm::device_buffer cast_values(void const* values,
                               cudf::size_type size,
                               cudf::type_id from,
                               cudf::type_id to,
                               execution const& exec)
{
  auto const view = flat_view(from, size, values);
  return take_data(cudf::cast(view, cudf::data_type{to}, exec.stream, exec.mr));
}

rmm::device_buffer widen_halves(void const* halves, cudf::size_type size, execution const& exec)
{
  static auto const every_half = [] {
    auto result = std::array<float, 65'536>{};
    for (std::uint32_t i = 0; i < result.size(); ++i) {
      result[i] = half_to_float(static_cast<std::uint16_t>(i));
    }
    return result;
  }();
  // A table of all 65,536 halves, indexed by their bits.
  auto const values = upload(every_half.data(), sizeof every_half, exec.scratch());
  auto const table  = flat_view(cudf::type_id::FLOAT32, std::ssize(every_half), values.data());
  auto gathered     = cudf::gather(cudf::table_view{{table}},
                                   flat_view(cudf::type_id::UINT16, size, halves),
                                   cudf::out_of_bounds_policy::DONT_CHECK,
                                   exec.stream,
                                   exec.mr);
  return take_data(std::move(gathered->release().front()));
}

std::unique_ptr<cudf::column> spread(cudf::column_view const& values,
                                     cudf::size_type count,
                                     cudf::size_type step,
                                     execution const& exec)
{
  auto const scratch = exec.scratch();
  auto const steps   = sequence(0, step, count, scratch);
  // Example: the sum of 4 4 4 9 9 9 and 0 2 4 0 2 4 is 4 6 8 9 11 13.
  auto const repeated = cudf::repeat(cudf::table_view{{values}}, count, exec.stream, scratch.mr);
  auto const tiled =
    cudf::tile(cudf::table_view{{steps->view()}}, values.size(), exec.stream, scratch.mr);
  return cudf::binary_operation(repeated->view().column(0),
                                tiled->view().column(0),
                                cudf::binary_operator::ADD,
                                cudf::data_type{cudf::type_id::INT32},
                                exec.stream,
                                exec.mr);
}

rmm::device_buffer interleave(plain_columns const& columns, execution const& exec)
{
  // Unsigned integers stand for all types of their width.
  auto const type = columns.width == 1   ? cudf::type_id::UINT8
                    : columns.width == 2 ? cudf::type_id::UINT16
                    : columns.width == 4 ? cudf::type_id::UINT32
                                         : cudf::type_id::UINT64;
  auto views      = std::vector<cudf::column_view>{};
  for (auto const* data : columns.data) { views.push_back(flat_view(type, columns.rows, data)); }
  return take_data(cudf::interleave_columns(cudf::table_view{views}, exec.stream, exec.mr));
}

rmm::device_buffer gather_strided(strided_values const& range, execution const& exec)
{
  auto const scratch  = exec.scratch();
  auto const as_index = [](std::int64_t value) { return static_cast<cudf::size_type>(value); };
  auto map =
    sequence(as_index(range.begin), as_index(range.strides[0]), as_index(range.shape[0]), scratch);
  for (std::size_t i = 1; i < range.shape.size(); ++i) {
    map = spread(map->view(), as_index(range.shape[i]), as_index(range.strides[i]), scratch);
  }
  auto gathered = cudf::gather(cudf::table_view{{range.values}},
                               map->view(),
                               cudf::out_of_bounds_policy::DONT_CHECK,
                               cudf::negative_index_policy::NOT_ALLOWED,
                               exec.stream,
                               exec.mr);
  return take_data(std::move(gathered->release().front()));
}

rmm::device_buffer zeros(std::int64_t size, execution const& exec)
{
  auto result = rmm::device_buffer{static_cast<std::size_t>(size), exec.stream, exec.mr};
  RMM_CUDA_TRY(cudaMemsetAsync(result.data(), 0, result.size(), exec.stream.get()));
  return result;
}

rmm::device_buffer combine(cudf::binary_operator operation,
                           cudf::column_view const& left,
                           cudf::column_view const& right,
                           cudf::type_id to,
                           execution const& exec)
{
  return take_data(
    cudf::binary_operation(left, right, operation, cudf::data_type{to}, exec.stream, exec.mr));
}

rmm::device_buffer rebase_offsets(offset_range const& offsets,
                                  std::int64_t base,
                                  cudf::type_id to,
                                  execution const& exec)
{
  auto const width  = static_cast<std::int64_t>(cudf::size_of(cudf::data_type{offsets.type}));
  auto const copied = aligned_bytes{offsets.first, offsets.count * width, width, exec};
  auto const view   = flat_view(offsets.type, offsets.count, copied.data());
  auto const result = cudf::data_type{to};
  if (base == 0) { return take_data(cudf::cast(view, result, exec.stream, exec.mr)); }
  auto const bases = offsets.type == cudf::type_id::INT64
                       ? constant(base, offsets.count, exec.scratch())
                       : constant(static_cast<std::int32_t>(base), offsets.count, exec.scratch());
  return combine(cudf::binary_operator::SUB, view, bases->view(), to, exec);
}

rmm::device_buffer count_up(std::int64_t count, std::int32_t step, execution const& exec)
{
  auto const steps = constant(step, count, exec.scratch());
  return take_data(cudf::scan(steps->view(),
                              *cudf::make_sum_aggregation<cudf::scan_aggregation>(),
                              cudf::scan_type::EXCLUSIVE,
                              cudf::null_policy::EXCLUDE,
                              exec.stream,
                              exec.mr));
}

}  // namespace cudf_arrow_bridge::detail::device
