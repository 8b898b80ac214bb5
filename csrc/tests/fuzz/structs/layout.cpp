// SPDX-License-Identifier: Apache-2.0
#include "fuzz/structs/layout.hpp"

#include <cstdlib>

namespace cudf_arrow_bridge::fuzz {
namespace {

format_info fixed(std::int64_t bytes)
{
  if (bytes < 0) { return {}; }
  return {.kind = layout::fixed, .row_bits = bytes * 8};
}

format_info integer(std::int64_t bytes)
{ return {.kind = layout::fixed, .row_bits = bytes * 8, .is_integer = true}; }

format_info decimal(std::string_view format)
{
  auto const first  = format.find(',');
  auto const second = first == format.npos ? first : format.find(',', first + 1);
  auto const bits   = second == format.npos ? 128 : std::atol(format.data() + second + 1);
  return bits == 32 || bits == 64 || bits == 128 || bits == 256 ? fixed(bits / 8) : format_info{};
}

format_info nested(std::string_view format)
{
  if (format == "+l" || format == "+m") { return {.kind = layout::list, .row_bits = 32}; }
  if (format == "+L") { return {.kind = layout::list, .row_bits = 64}; }
  if (format == "+vl") { return {.kind = layout::list_view, .row_bits = 32}; }
  if (format == "+vL") { return {.kind = layout::list_view, .row_bits = 64}; }
  if (format == "+s") { return {.kind = layout::structure}; }
  if (format == "+r") { return {.kind = layout::run_end}; }
  if (format.starts_with("+w:")) {
    return {.kind = layout::fixed_list, .list_size = std::atol(format.data() + 3)};
  }
  if (format.starts_with("+ud:")) { return {.kind = layout::union_, .is_dense = true}; }
  if (format.starts_with("+us:")) { return {.kind = layout::union_}; }
  return {};
}

}  // namespace

format_info parse_format(char const* format)
{
  if (format == nullptr || *format == '\0') { return {}; }
  auto const text = std::string_view{format};
  if (text == "n") { return {.kind = layout::null}; }
  if (text == "b") { return {.kind = layout::bits, .row_bits = 1}; }
  if (text == "c" || text == "C") { return integer(1); }
  if (text == "s" || text == "S") { return integer(2); }
  if (text == "i" || text == "I") { return integer(4); }
  if (text == "l" || text == "L") { return integer(8); }
  if (text == "e") { return fixed(2); }
  if (text == "f" || text == "tdD" || text == "tts" || text == "ttm" || text == "tiM") {
    return fixed(4);
  }
  if (text == "g" || text == "tdm" || text == "ttu" || text == "ttn" || text == "tiD") {
    return fixed(8);
  }
  if (text == "tin") { return fixed(16); }
  if (text.starts_with("ts") || text.starts_with("tD")) { return fixed(8); }
  if (text.starts_with("d:")) { return decimal(text); }
  if (text.starts_with("w:")) { return fixed(std::atol(format + 2)); }
  if (text == "u") { return {.kind = layout::binary, .row_bits = 32, .is_utf8 = true}; }
  if (text == "U") { return {.kind = layout::binary, .row_bits = 64, .is_utf8 = true}; }
  if (text == "z") { return {.kind = layout::binary, .row_bits = 32}; }
  if (text == "Z") { return {.kind = layout::binary, .row_bits = 64}; }
  if (text == "vu") { return {.kind = layout::view, .row_bits = 128, .is_utf8 = true}; }
  if (text == "vz") { return {.kind = layout::view, .row_bits = 128}; }
  return text.starts_with('+') ? nested(text) : format_info{};
}

std::int64_t num_buffers(format_info const& format)
{
  switch (format.kind) {
    case layout::fixed:
    case layout::bits:
    case layout::list: return 2;
    case layout::binary:
    case layout::view:
    case layout::list_view: return 3;
    case layout::fixed_list:
    case layout::structure: return 1;
    case layout::union_: return format.is_dense ? 2 : 1;
    default: return 0;
  }
}

std::string format_of(type_row const& row, std::int64_t num_children, random_source& random)
{
  auto format = std::string{row.format};
  if (row.arrow == "decimal32") { return "d:9,2,32"; }
  if (row.arrow == "decimal64") { return "d:18,-3,64"; }
  if (row.arrow == "decimal128") { return random.percent(50) ? "d:38,20" : "d:20,0,128"; }
  if (row.arrow == "decimal256") { return "d:70,5,256"; }
  if (format.starts_with("ts")) { return format + (random.percent(50) ? "" : "Europe/Berlin"); }
  if (format == "w:") { return format + std::to_string(1 + random.below(20)); }
  if (format == "+w:") { return format + std::to_string(1 + random.below(4)); }
  if (format.starts_with("+u")) {
    for (auto i = 0; i < num_children; ++i) { format += (i == 0 ? "" : ",") + std::to_string(i); }
  }
  return format;
}

}  // namespace cudf_arrow_bridge::fuzz
