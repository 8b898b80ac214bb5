// SPDX-License-Identifier: Apache-2.0
/// @file
/// Columns that violate one invariant, made from valid ones.
#pragma once

#include "testing/columns.hpp"
#include "testing/invariants.hpp"
#include "testing/views.hpp"

#include <optional>
#include <utility>

namespace cudf_arrow_bridge::test {

/// The parts of a column view, to modify them.
struct parts {
  explicit parts(cudf::column_view const& view)
    : type{view.type()},
      size{view.size()},
      data{view.head<void>()},
      mask{view.null_mask()},
      null_count{view.null_count()},
      offset{view.offset()},
      children{view.child_begin(), view.child_end()}
  {
  }

  [[nodiscard]] cudf::column_view view() const
  { return {type, size, data, mask, null_count, offset, children}; }

  cudf::data_type type;
  cudf::size_type size;
  void const* data;
  cudf::bitmask_type const* mask;
  cudf::size_type null_count;
  cudf::size_type offset;
  std::vector<cudf::column_view> children;
};

inline value text(char const* characters) { return {std::string{characters}}; }

inline value list(std::vector<int> const& items)
{
  auto result = rows{};
  for (auto const item : items) { result.push_back(number(item)); }
  return {std::move(result)};
}

inline auto const integer      = flat("int32");
inline auto const integer_list = list_of(integer);

inline rows three_numbers() { return {number(1), value{}, number(3)}; }

inline rows three_texts() { return {text("ab"), value{}, text("c")}; }

inline rows three_lists() { return {list({1, 2}), value{}, list({3})}; }

inline rows three_structs() { return {list({1}), value{}, list({3})}; }

/// A valid column and a modified view of it.
struct planted {
  planted(shape const& type, rows const& values)
    : owner{make_column(type, values)}, changed{owner->view()}
  {
  }

  planted(shape const& type, rows const& values, cudf::size_type begin, cudf::size_type end)
    : owner{make_column(type, values)}, changed{slice(owner->view(), begin, end)}
  {
  }

  /// Replace the integers of a child.
  template <typename T>
  void replace(std::size_t child, std::vector<T> const& values)
  {
    memory.push_back(host_buffer(values));
    auto inner              = parts{changed.children[child]};
    inner.data              = memory.back().data();
    changed.children[child] = inner.view();
  }

  void change_child(std::size_t child, void (*change)(parts&))
  {
    auto inner = parts{changed.children[child]};
    change(inner);
    changed.children[child] = inner.view();
  }

  void add_mask(std::size_t child)
  {
    memory.push_back(host_buffer(std::vector<cudf::bitmask_type>{~cudf::bitmask_type{1}}));
    auto inner              = parts{changed.children[child]};
    inner.mask              = static_cast<cudf::bitmask_type const*>(memory.back().data());
    inner.null_count        = 1;
    changed.children[child] = inner.view();
  }

  std::unique_ptr<cudf::column> owner;
  parts changed;
  std::vector<rmm::device_buffer> memory{};
  invariant_options options{};
};

template <typename T>
T const* moved(T const* address, std::ptrdiff_t bytes)
{ return reinterpret_cast<T const*>(reinterpret_cast<std::byte const*>(address) + bytes); }

/// Return an `allocation_of` that knows only one allocation.
inline auto bytes_at(void const* begin, std::size_t size)
{
  return [=](void const* address) {
    return address == begin ? std::span{static_cast<std::byte const*>(begin), size}
                            : std::span<std::byte const>{};
  };
}

/// A modification that violates one invariant.
struct plant {
  char const* name;
  invariant broken;
  char const* path;  ///< path that the violation names
  shape type;
  rows values;
  void (*change)(planted&);
  /// Begin and end of the slice of the column to use; none: the whole column
  std::optional<std::pair<cudf::size_type, cudf::size_type>> part{};

  [[nodiscard]] planted make() const
  {
    auto result = part ? planted{type, values, part->first, part->second} : planted{type, values};
    change(result);
    return result;
  }
};

inline void PrintTo(plant const& p, std::ostream* out) { *out << p.name; }

}  // namespace cudf_arrow_bridge::test
