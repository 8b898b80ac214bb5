// SPDX-License-Identifier: Apache-2.0
#include "base/nvtx.hpp"
#include "stream/exception_code.hpp"

#include <cudf_arrow_bridge/stream.hpp>

#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

namespace cudf_arrow_bridge {
namespace {

/// The private data of a C stream.
struct exported_stream {
  device_array_stream batches;
  return_function give_back;
  bool has_pulled{false};  ///< whether the consumer has requested a batch
  std::string error{};

  template <typename Stream>
  static exported_stream& of(Stream* stream) noexcept
  { return *static_cast<exported_stream*>(stream->private_data); }

  /// Runs `work`. Turns an exception into an errno code and the text of `get_last_error`.
  template <typename Work>
  int report(Work work) noexcept
  {
    error.clear();
    try {
      work();
      return 0;
    } catch (...) {
      return detail::report_exception([this](int code, char const* message) {
        try {
          error = message;
        } catch (std::bad_alloc const&) {
          error.clear();
        }
        return code;
      });
    }
  }
};

/// Sets the private data and the callbacks of a C stream.
template <typename Array, typename Stream>
void export_stream(Stream& stream, device_array_stream&& batches, return_function&& give_back)
{
  auto state          = std::make_unique<exported_stream>();
  state->batches      = std::move(batches);
  state->give_back    = std::move(give_back);
  stream.private_data = state.release();
  stream.get_schema   = [](Stream* self, ArrowSchema* out) noexcept {
    auto& from = exported_stream::of(self);
    return from.report([&] { from.batches.schema().to_arrow().move_to(out); });
  };
  stream.get_next = [](Stream* self, Array* out) noexcept {
    auto& from      = exported_stream::of(self);
    from.has_pulled = true;
    *out            = Array{};
    return from.report([&] {
      auto const batch = from.batches.next();
      if (batch.is_end()) { return; }
      if constexpr (std::is_same_v<Array, ArrowArray>) {
        batch.array.to_arrow_host().move_to(out);
      } else {
        batch.array.to_arrow().move_to(out);
      }
    });
  };
  stream.get_last_error = [](Stream* self) noexcept -> char const* {
    auto const& from = exported_stream::of(self);
    return from.error.empty() ? nullptr : from.error.c_str();
  };
  stream.release = [](Stream* self) noexcept {
    self->release   = nullptr;
    auto const from = std::unique_ptr<exported_stream>{&exported_stream::of(self)};
    if (from->has_pulled || !from->give_back) { return; }
    // A stream that cannot be returned is destroyed.
    (void)from->report([&] { from->give_back(std::move(from->batches)); });
  };
}

}  // namespace

unique_device_array_stream device_array_stream::to_arrow(return_function give_back)
{
  detail::nvtx_range const range{__func__};
  auto stream         = unique_device_array_stream{};
  stream->device_type = device_type();
  export_stream<ArrowDeviceArray>(*stream.get(), std::move(*this), std::move(give_back));
  reset();
  return stream;
}

unique_array_stream device_array_stream::to_arrow_host(return_function give_back)
{
  detail::nvtx_range const range{__func__};
  auto stream = unique_array_stream{};
  export_stream<ArrowArray>(*stream.get(), std::move(*this), std::move(give_back));
  reset();
  return stream;
}

}  // namespace cudf_arrow_bridge
