#pragma once
// An object as sent by the API server: the text, and the commonly needed metadata. Typed values
// (node.h, config_map.h, ...) are parsed from the text where more is needed.

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/kinds.h"

namespace tranche::cluster {

struct ObjectKey {
  std::string ns;  // empty for a cluster-scoped kind
  std::string name;

  // "name" or "ns/name": for messages.
  std::string to_string() const { return ns.empty() ? name : ns + '/' + name; }
  auto operator<=>(const ObjectKey&) const = default;
};

struct Object {
  ObjectKey key;
  std::string uid;
  std::string resource_version;
  std::string json;  // the whole object, including apiVersion and kind

  bool operator==(const Object&) const = default;
};

struct ObjectList {
  std::vector<Object> items;
  std::string resource_version;  // of the list: a watch continues from here
};

// kInvalidArgument if this is not a JSON object with metadata.name.
Result<Object> parse_object(std::string_view json);

// The response to a list (or one page of it). apiVersion and kind, which a list omits in its items,
// are restored from `kind`.
struct ListPage {
  ObjectList list;
  std::string next;  // metadata.continue; empty on the last page
};
Result<ListPage> parse_list(const Kind& kind, std::string_view json);

// The object's text without metadata.managedFields, which is often half of it. An update without
// them leaves the server's unchanged.
std::string without_managed_fields(std::string_view json);

}  // namespace tranche::cluster
