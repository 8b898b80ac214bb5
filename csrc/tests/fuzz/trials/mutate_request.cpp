// SPDX-License-Identifier: Apache-2.0
#include "fuzz/structs/mutate.hpp"
#include "fuzz/trials/request.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace cudf_arrow_bridge::fuzz {
namespace {

using formats = std::vector<std::string_view>;

/// Groups of formats: a column imported as one of a group can mostly be exported as the others.
std::vector<formats> const& convertible_formats()
{
  static auto const all = std::vector<formats>{{"u", "U", "vu"},
                                               {"z", "Z", "vz", "w:1", "w:2", "w:3", "+l", "+L"},
                                               {"+l", "+L", "+m", "+vl", "+vL", "+w:2"},
                                               {"tDs", "tts"},
                                               {"tDm", "ttm"},
                                               {"tDu", "ttu"},
                                               {"tDn", "ttn"},
                                               {"tdD", "tdm", "tss:", "tsm:", "tsu:", "tsn:"},
                                               {"e", "f"}};
  return all;
}

/// A random decimal format of the same scale.
std::string draw_decimal(std::string_view format, random_source& random)
{
  static constexpr auto widths = std::to_array<char const*>({"", ",32", ",64", ",128"});
  auto const first             = format.find(',');
  auto const second            = std::min(format.find(',', first + 1), format.size());
  auto const scale             = std::string{format.substr(first, second - first)};
  return "d:" + std::to_string(1 + random.below(40)) + scale + random.pick(widths);
}

class request_mutator {
 public:
  explicit request_mutator(tree& target)
    : target_{target}, random_{target.random}, schema_{target.any_node().schema}
  {
  }

  void change()
  {
    if (schema_.release == nullptr || target_.pool.find(schema_.format) == nullptr) { return; }
    switch (random_.below(6)) {
      case 0: wrap(); break;
      case 1: unwrap(); break;
      default: change_format();
    }
  }

 private:
  void change_format()
  {
    auto const found = std::string_view{schema_.format};
    if (found.starts_with("d:") && found.find(',') != found.npos) {
      schema_.format = target_.pool.text(draw_decimal(found, random_));
      return;
    }
    auto const begin = random_.below(std::ssize(convertible_formats()));
    for (std::int64_t i = 0; i < std::ssize(convertible_formats()); ++i) {
      auto const& group = convertible_formats()[static_cast<std::size_t>(
        (begin + i) % std::ssize(convertible_formats()))];
      if (std::find(group.begin(), group.end(), found) == group.end()) { continue; }
      auto const wanted  = random_.pick(group);
      schema_.format     = target_.pool.text(wanted);
      schema_.n_children = wanted.starts_with('+') ? schema_.n_children : 0;
      return;
    }
  }

  /// Requests a dictionary of the values.
  void wrap()
  {
    static constexpr auto indices =
      std::to_array<char const*>({"c", "C", "s", "S", "i", "I", "l", "L"});
    auto& values       = target_.spare->schema;
    values             = schema_;
    schema_.format     = target_.pool.text(random_.pick(indices));
    schema_.n_children = 0;
    schema_.dictionary = &values;
  }

  /// Requests a dictionary's values without the dictionary.
  void unwrap()
  {
    auto* values = schema_.dictionary;
    if (values != nullptr && values != &schema_) { schema_ = ArrowSchema{*values}; }
  }

  tree& target_;
  random_source& random_;
  ArrowSchema& schema_;
};

}  // namespace

void mutate_request(tree& target)
{
  for (auto changes = 1 + target.random.below(4); changes > 0; --changes) {
    if (target.random.percent(25)) {
      mutate_schema(target);
    } else {
      request_mutator{target}.change();
    }
  }
}

}  // namespace cudf_arrow_bridge::fuzz
