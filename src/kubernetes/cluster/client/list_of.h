#pragma once
// The objects of a list as values.

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cluster/objects.h"

namespace tranche::cluster {

// Converts each object with `parse` (such as parse_node) and keeps those that `keep` accepts: a
// list is read page by page, and dropped objects take no memory. `keep` may shorten the value.
// One unreadable object fails the whole list, because an incomplete list looks like a complete
// one.
template <class Parse, class Keep>
auto some_of(Objects& objects, const Kind& kind, const ListOptions& options, const Parse& parse,
             const Keep& keep, const Call& call = {})
    -> Result<std::vector<typename std::invoke_result_t<Parse, std::string>::value_type>> {
  std::vector<typename std::invoke_result_t<Parse, std::string>::value_type> values;
  const auto take = [&](const std::vector<Object>& page, bool first) -> Result<void> {
    if (first) values.clear();
    for (const auto& item : page) {
      ASSIGN_OR_RETURN(auto value, parse(item.json));
      if (keep(value)) values.push_back(std::move(value));
    }
    return {};
  };
  TRY(objects.list_pages(kind, options, take, call));
  return values;
}

// Keeps all of them.
template <class Parse>
auto list_of(Objects& objects, const Kind& kind, const ListOptions& options, const Parse& parse,
             const Call& call = {}) {
  return some_of(objects, kind, options, parse, [](auto&) { return true; }, call);
}

}  // namespace tranche::cluster
