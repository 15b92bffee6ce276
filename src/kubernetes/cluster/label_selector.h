#pragma once
// A label selector as in Kubernetes objects (meta/v1 LabelSelector), and which labels it selects.
// Pure values.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/metadata.h"

namespace tranche::json {
class Fields;
}

namespace tranche::cluster {

using json::Fields;

struct SelectorExpression {
  std::string key;
  std::string op;  // "In", "NotIn", "Exists", "DoesNotExist"
  std::vector<std::string> values = {};
  bool operator==(const SelectorExpression&) const = default;
};

struct LabelSelector {
  StringMap match_labels = {};
  std::vector<SelectorExpression> match_expressions = {};
  bool operator==(const LabelSelector&) const = default;
};

// All of its conditions must hold; without conditions it selects everything. NotIn and DoesNotExist
// hold if the key is absent, as in Kubernetes; an unknown operator never holds.
bool selects(const LabelSelector& selector, const StringMap& labels);

// What the API server would refuse in a selector, one line each, prefixed with `path`.
std::vector<std::string> problems_of(const LabelSelector& selector, std::string_view path);

// JSON text, with sorted keys.
std::string to_json(const LabelSelector& selector);

// For the parse_ functions of this folder. nullopt if absent or null, which differs from a selector
// without conditions.
std::optional<LabelSelector> read_selector(const Fields& parent, std::string_view key);
std::vector<SelectorExpression> read_expressions(const Fields& parent, std::string_view key);
// A list of texts; empty if absent or null.
std::vector<std::string> read_texts(const Fields& parent, std::string_view key);

}  // namespace tranche::cluster
