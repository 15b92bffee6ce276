#include "explain/lint/cel_reference.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace tranche::lint {
namespace {

using Kind = CelToken::Kind;
using Tokens = std::vector<CelToken>;

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kSwapped = {
    {{"<", ">"}, {">", "<"}, {"<=", ">="}, {">=", "<="}, {"==", "=="}, {"!=", "!="}}};

std::optional<std::string> swapped(const CelToken& token) {
  if (token.kind != Kind::kSign) return std::nullopt;
  const auto* const found =
      std::ranges::find(kSwapped, token.text, &decltype(kSwapped)::value_type::first);
  if (found == kSwapped.end()) return std::nullopt;
  return std::string(found->second);
}

// Whether an operand of a comparison begins or ends at `at`: no stronger operator is there.
bool is_edge(const Tokens& tokens, std::size_t at) {
  constexpr std::array<std::string_view, 7> kEdges = {"&&", "||", "(", ")", "?", ":", ","};
  if (at >= tokens.size()) return true;  // also before the first (-1)
  return tokens[at].kind == Kind::kSign &&
         std::ranges::find(kEdges, tokens[at].text) != kEdges.end();
}

// `.name` that is not a call, or `['name']`. Moves `at` behind it.
std::optional<std::string> selected(const Tokens& tokens, std::size_t& at) {
  const auto is = [&](std::size_t i, std::string_view sign) {
    return i < tokens.size() && tokens[i].is(sign);
  };
  const auto kind = [&](std::size_t i) { return i < tokens.size() ? tokens[i].kind : Kind::kSign; };
  if (is(at, ".") && kind(at + 1) == Kind::kWord && !is(at + 2, "(")) {
    at += 2;
    return tokens[at - 1].text;
  }
  if (is(at, "[") && kind(at + 1) == Kind::kText && is(at + 2, "]")) {
    at += 3;
    return tokens[at - 2].text;
  }
  return std::nullopt;
}

struct Literal {
  Kind kind = Kind::kNumber;
  std::string function;
  std::string text;
};

// The literal at `at`: 40000, '40Gi', quantity('40Gi'). Moves `at` behind it.
std::optional<Literal> literal_at(const Tokens& tokens, std::size_t& at) {
  if (at >= tokens.size()) return std::nullopt;
  const auto& token = tokens[at];
  if (token.kind == Kind::kNumber || token.kind == Kind::kText) {
    ++at;
    return Literal{token.kind, "", token.text};
  }
  const bool call = at + 3 < tokens.size() && tokens[at + 1].is("(") &&
                    tokens[at + 2].kind == Kind::kText && tokens[at + 3].is(")");
  if (!call || !(token.is_word("quantity") || token.is_word("semver"))) return std::nullopt;
  at += 4;
  return Literal{Kind::kText, token.text, tokens[at - 2].text};
}

// `.compareTo(LITERAL)` at `at`.
std::optional<CelComparison> method_behind(const Tokens& tokens, std::size_t begin,
                                           std::size_t at) {
  constexpr std::array<std::string_view, 3> kMethods = {"compareTo", "isGreaterThan", "isLessThan"};
  if (at + 3 >= tokens.size() || !tokens[at].is(".") || !tokens[at + 2].is("(")) {
    return std::nullopt;
  }
  const auto& method = tokens[at + 1].text;
  if (std::ranges::find(kMethods, method) == kMethods.end()) return std::nullopt;
  at += 3;
  const auto literal = literal_at(tokens, at);
  if (!literal || at >= tokens.size() || !tokens[at].is(")")) return std::nullopt;
  return CelComparison{.sign = "",
                       .kind = literal->kind,
                       .function = literal->function,
                       .literal = literal->text,
                       .begin = tokens[begin].begin,
                       .end = tokens[at].end,
                       .method = method};
}

std::optional<CelComparison> comparison_behind(const Tokens& tokens, std::size_t begin,
                                               std::size_t at) {
  if (at >= tokens.size() || !swapped(tokens[at])) return std::nullopt;
  const auto sign = tokens[at++].text;
  const auto literal = literal_at(tokens, at);
  if (!literal || !is_edge(tokens, at) || !is_edge(tokens, begin - 1)) return std::nullopt;
  return CelComparison{sign,          literal->kind,       literal->function,
                       literal->text, tokens[begin].begin, tokens[at - 1].end};
}

std::optional<CelComparison> comparison_before(const Tokens& tokens, std::size_t begin,
                                               std::size_t end) {
  if (begin < 2 || !is_edge(tokens, end)) return std::nullopt;
  const auto sign = swapped(tokens[begin - 1]);
  if (!sign) return std::nullopt;
  for (const std::size_t length : {std::size_t{1}, std::size_t{4}}) {
    if (begin < length + 1) break;
    const auto first = begin - 1 - length;
    auto at = first;
    const auto literal = literal_at(tokens, at);
    if (!literal || at != begin - 1 || !is_edge(tokens, first - 1)) continue;
    return CelComparison{*sign,         literal->kind,       literal->function,
                         literal->text, tokens[first].begin, tokens[end - 1].end};
  }
  return std::nullopt;
}

}  // namespace

std::vector<CelReference> cel_references(const Tokens& tokens) {
  std::vector<CelReference> all;
  for (std::size_t i = 0; i + 3 < tokens.size(); ++i) {
    const bool begins = tokens[i].is_word("device") && tokens[i + 1].is(".") &&
                        (i == 0 || !(tokens[i - 1].is(".") || tokens[i - 1].is(".?")));
    const auto& what = tokens[i + 2];
    if (!begins || !(what.is_word("attributes") || what.is_word("capacity"))) continue;
    auto at = i + 3;
    auto first = selected(tokens, at);
    if (!first) continue;
    CelReference one{.is_capacity = what.text == "capacity", .first = *std::move(first)};
    one.second = selected(tokens, at);
    one.begin = tokens[i].begin;
    one.end = tokens[at - 1].end;
    one.comparison = comparison_behind(tokens, i, at);
    if (!one.comparison) one.comparison = comparison_before(tokens, i, at);
    if (!one.comparison) one.comparison = method_behind(tokens, i, at);
    all.push_back(std::move(one));
    i = at - 1;
  }
  return all;
}

}  // namespace tranche::lint
