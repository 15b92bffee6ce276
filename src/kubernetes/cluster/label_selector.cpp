#include "cluster/label_selector.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_value.h"
#include "cluster/fields.h"

namespace tranche::cluster {
namespace {

bool holds(const SelectorExpression& expression, const StringMap& labels) {
  const auto found = labels.find(expression.key);
  const bool present = found != labels.end();
  const auto listed = [&] {
    return std::ranges::find(expression.values, found->second) != expression.values.end();
  };
  if (expression.op == "In") return present && listed();
  if (expression.op == "NotIn") return !present || !listed();
  if (expression.op == "Exists") return present;
  return expression.op == "DoesNotExist" && !present;
}

}  // namespace

bool selects(const LabelSelector& selector, const StringMap& labels) {
  const auto equals = [&](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return found != labels.end() && found->second == wanted.second;
  };
  return std::ranges::all_of(selector.match_labels, equals) &&
         std::ranges::all_of(selector.match_expressions,
                             [&](const auto& expression) { return holds(expression, labels); });
}

std::vector<std::string> problems_of(const LabelSelector& selector, std::string_view path) {
  std::vector<std::string> problems;
  if (selector.match_labels.contains("")) {
    problems.push_back(fmt::format("{}.matchLabels has an empty key", path));
  }
  for (std::size_t i = 0; i < selector.match_expressions.size(); ++i) {
    const auto& expression = selector.match_expressions[i];
    const auto at = fmt::format("{}.matchExpressions[{}]", path, i);
    const bool lists = expression.op == "In" || expression.op == "NotIn";
    if (expression.key.empty()) problems.push_back(at + ".key is missing");
    if (!lists && expression.op != "Exists" && expression.op != "DoesNotExist") {
      problems.push_back(fmt::format(
          "{}.operator is \"{}\", none of In, NotIn, Exists, DoesNotExist", at, expression.op));
    } else if (lists == expression.values.empty()) {
      problems.push_back(fmt::format("{}.values must {}be empty with the operator {}", at,
                                     lists ? "not " : "", expression.op));
    }
  }
  return problems;
}

std::string to_json(const LabelSelector& selector) {
  auto value = json::Value::object();
  if (!selector.match_labels.empty()) value["matchLabels"] = selector.match_labels;
  for (const auto& expression : selector.match_expressions) {
    json::Value item = {{"key", expression.key}, {"operator", expression.op}};
    if (!expression.values.empty()) item["values"] = expression.values;
    value["matchExpressions"].push_back(std::move(item));
  }
  return value.text(json::Value::Order::kSorted);
}

std::optional<LabelSelector> read_selector(const Fields& parent, std::string_view key) {
  const auto found = parent.view().find(key);
  if (!found || found->kind() == json::Kind::kNull) return std::nullopt;
  const auto fields = parent.object(key);
  return LabelSelector{fields.map("matchLabels"), read_expressions(fields, "matchExpressions")};
}

std::vector<SelectorExpression> read_expressions(const Fields& parent, std::string_view key) {
  std::vector<SelectorExpression> expressions;
  for (const auto& item : parent.list(key)) {
    // A selector of Pods' quotas names its key scopeName.
    auto name = item.maybe_text("key");
    if (!name) name = item.maybe_text("scopeName");
    expressions.push_back(
        {std::move(name).value_or(""), item.text("operator"), read_texts(item, "values")});
  }
  return expressions;
}

std::vector<std::string> read_texts(const Fields& parent, std::string_view key) {
  std::vector<std::string> texts;
  const auto found = parent.view().find(key);
  if (!found || found->kind() == json::Kind::kNull) return texts;
  if (found->kind() != json::Kind::kArray) {
    parent.refuse(key, fmt::format("is {} where a list is expected", describe(found->kind())));
    return texts;
  }
  for (const auto& element : found->elements()) {
    auto text = element.as_string();
    if (!text) {
      parent.refuse(key, fmt::format("has {} where a text is expected", describe(element.kind())));
      return texts;
    }
    texts.push_back(*std::move(text));
  }
  return texts;
}

}  // namespace tranche::cluster
