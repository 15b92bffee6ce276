#include "cluster/node_affinity.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "cluster/fields.h"

namespace tranche::cluster {
namespace {

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

// "Gt" and "Lt" compare integers; anything else never matches.
bool compares(const SelectorExpression& expression, const StringMap& labels) {
  const auto found = labels.find(expression.key);
  if (found == labels.end() || expression.values.size() != 1) return false;
  const auto left = number_in(found->second);
  const auto right = number_in(expression.values.front());
  if (!left || !right) return false;
  return expression.op == "Gt" ? *left > *right : *left < *right;
}

bool hold(const std::vector<SelectorExpression>& expressions, const StringMap& labels) {
  return std::ranges::all_of(expressions, [&](const auto& expression) {
    const bool is_comparison = expression.op == "Gt" || expression.op == "Lt";
    return is_comparison ? compares(expression, labels) : selects({{}, {expression}}, labels);
  });
}

bool holds(const NodeSelectorTerm& term, const Node& node) {
  if (term.labels.empty() && term.fields.empty()) return false;
  return hold(term.labels, node.labels) && hold(term.fields, {{"metadata.name", node.name}});
}

std::optional<NodeSelector> read_required(const Fields& affinity) {
  const auto required =
      affinity.object("nodeAffinity").object("requiredDuringSchedulingIgnoredDuringExecution");
  if (required.view().kind() != json::Kind::kObject) return std::nullopt;
  NodeSelector selector;
  for (const auto& term : required.list("nodeSelectorTerms")) {
    selector.push_back(
        {read_expressions(term, "matchExpressions"), read_expressions(term, "matchFields")});
  }
  return selector;
}

}  // namespace

bool selects(const NodeSelector& selector, const Node& node) {
  return std::ranges::any_of(selector, [&](const auto& term) { return holds(term, node); });
}

Result<std::optional<NodeSelector>> read_required_nodes(std::string_view affinity) {
  if (affinity.empty()) return std::nullopt;
  const auto root = json::parse(affinity);
  if (!root) return std::unexpected(Error(root.error()).with_context("spec.affinity"));
  if (root->kind() != json::Kind::kObject) {
    return fail(Code::kInvalidArgument,
                "spec.affinity: it is " + std::string(describe(root->kind())));
  }
  std::optional<Error> error;
  auto selector = read_required(Fields(*root, "spec.affinity", error));
  if (error) return std::unexpected(*std::move(error));
  return selector;
}

}  // namespace tranche::cluster
