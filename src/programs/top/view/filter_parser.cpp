// Recursive descent:
//
//     any   := all ('|' all)*
//     all   := not ('&' not)*
//     not   := '!' not | '(' any ')' | term
//     term  := FIELD OPERATOR VALUE | WORD

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "base/edit_distance.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "top/view/filter_node.h"

namespace tranche::top {
namespace {

using Node = FilterNode;
using NodePtr = std::shared_ptr<const Node>;

constexpr std::string_view kEndsWord = " \t&|!()=<>\"";

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<NodePtr> parse() {
    skip_blanks();
    if (at_end()) return refuse(at_, "there is nothing", "write FIELD OPERATOR VALUE: mem>8Gi");
    ASSIGN_OR_RETURN(auto root, any(0));
    if (!at_end()) {
      return refuse(at_, fmt::format("'{}' does not belong here", text_[at_]),
                    "join terms with & or |");
    }
    return root;
  }

 private:
  struct Token {
    std::string text;
    std::size_t at = 0;
    bool quoted = false;
  };

  bool at_end() const { return at_ >= text_.size(); }
  void skip_blanks() {
    while (!at_end() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(char sign) {
    if (at_end() || text_[at_] != sign) return false;
    ++at_;
    skip_blanks();
    return true;
  }
  static std::unexpected<Error> refuse(std::size_t at, std::string_view what,
                                       std::string hint = {}) {
    return fail(Code::kInvalidArgument, fmt::format("column {}: {}", at + 1, printable(what, 200)),
                std::move(hint));
  }

  Result<NodePtr> any(int depth);
  Result<NodePtr> all(int depth);
  Result<NodePtr> inverted(int depth);
  Result<NodePtr> term();
  Result<Token> word();
  std::optional<Compare> compare();
  Result<NodePtr> comparison(const Field& field, Compare compare, std::size_t at);

  std::string_view text_;
  std::size_t at_ = 0;
};

NodePtr joined(Node::Kind kind, std::vector<NodePtr> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  return std::make_shared<Node>(Node{.kind = kind, .parts = std::move(parts)});
}

Result<NodePtr> Parser::any(int depth) {
  std::vector<NodePtr> parts;
  do {
    ASSIGN_OR_RETURN(auto part, all(depth));
    parts.push_back(std::move(part));
  } while (take('|'));
  return joined(Node::Kind::kAny, std::move(parts));
}

Result<NodePtr> Parser::all(int depth) {
  std::vector<NodePtr> parts;
  do {
    ASSIGN_OR_RETURN(auto part, inverted(depth));
    parts.push_back(std::move(part));
  } while (take('&'));
  return joined(Node::Kind::kAll, std::move(parts));
}

Result<NodePtr> Parser::inverted(int depth) {
  const auto at = at_;
  if (depth > kDeepestFilter) return refuse(at, "too many ! and ( within each other");
  if (take('!')) {
    ASSIGN_OR_RETURN(auto part, inverted(depth + 1));
    return std::make_shared<Node>(Node{.kind = Node::Kind::kNot, .parts = {std::move(part)}});
  }
  if (!take('(')) return term();
  ASSIGN_OR_RETURN(auto inside, any(depth + 1));
  if (!take(')')) return refuse(at_, fmt::format("the ( of column {} is not closed", at + 1));
  return inside;
}

// A word, or text in quotes.
Result<Parser::Token> Parser::word() {
  Token token{.at = at_, .quoted = !at_end() && text_[at_] == '"'};
  if (token.quoted) {
    const auto end = text_.find('"', at_ + 1);
    if (end == std::string_view::npos) return refuse(at_, "the \" is not closed");
    token.text = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
  } else {
    const auto end = std::min(text_.find_first_of(kEndsWord, at_), text_.size());
    token.text = text_.substr(at_, end - at_);
    at_ = end;
  }
  skip_blanks();
  return token;
}

std::optional<Compare> Parser::compare() {
  constexpr std::pair<std::string_view, Compare> kSigns[] = {
      {"==", Compare::kEqual},       {"!=", Compare::kNotEqual}, {"<=", Compare::kLessOrEqual},
      {">=", Compare::kMoreOrEqual}, {"=", Compare::kEqual},     {"<", Compare::kLess},
      {">", Compare::kMore},
  };
  for (const auto& [sign, meaning] : kSigns) {
    if (!text_.substr(at_).starts_with(sign)) continue;
    at_ += sign.size();
    skip_blanks();
    return meaning;
  }
  return std::nullopt;
}

std::string field_names() {
  std::string names;
  for (const auto& field : fields())
    names += fmt::format("{}{}", names.empty() ? "" : " ", field.name);
  return names;
}

Result<NodePtr> Parser::term() {
  ASSIGN_OR_RETURN(auto token, word());
  if (token.text.empty()) {
    return refuse(token.at,
                  at_end() ? "a term is missing" : fmt::format("'{}' begins no term", text_[at_]),
                  "write FIELD OPERATOR VALUE: mem>8Gi");
  }
  const auto sign = compare();
  if (!sign) {
    return std::make_shared<Node>(
        Node{.kind = Node::Kind::kWord, .text = lower_case(std::move(token.text))});
  }
  const auto* field = find_field(token.text);
  if (field != nullptr) return comparison(*field, *sign, token.at);
  std::vector<std::string_view> names;
  for (const auto& one : fields()) names.push_back(one.name);
  const auto near = nearest(token.text, names);
  return refuse(
      token.at, fmt::format("no field '{}'", token.text.substr(0, 40)),
      near ? fmt::format("did you mean {}?", *near) : fmt::format("fields are {}", field_names()));
}

// In the field's unit. nullopt: it is not one.
std::optional<double> number_of(FieldType type, std::string_view text) {
  if (type == FieldType::kBytes) {
    const auto bytes = parse_bytes(text);
    return bytes ? std::optional(static_cast<double>(bytes->value)) : std::nullopt;
  }
  if (type == FieldType::kPercent && text.ends_with('%')) text.remove_suffix(1);
  double value = 0;
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (trouble != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::string_view example_of(FieldType type) {
  switch (type) {
    case FieldType::kBytes:
      return "write an amount: 8Gi, 512Mi";
    case FieldType::kPercent:
      return "write percent: 50 or 50%";
    default:
      return "write a number";
  }
}

Result<NodePtr> Parser::comparison(const Field& field, Compare compare, std::size_t at) {
  const bool text = field.type == FieldType::kText;
  const bool equality = compare == Compare::kEqual || compare == Compare::kNotEqual;
  if (text && !equality) {
    return refuse(at, fmt::format("'{}' is a text", field.name), "compare it with = or !=");
  }
  ASSIGN_OR_RETURN(auto value, word());
  if (value.text.empty() && !value.quoted) {
    return refuse(value.at, fmt::format("'{}' is compared with nothing", field.name),
                  text ? "write \"\" for an empty text" : std::string(example_of(field.type)));
  }
  Node node{.kind = Node::Kind::kField, .field = &field, .compare = compare};
  if (text) {
    node.text = std::move(value.text);
    return std::make_shared<Node>(std::move(node));
  }
  node.unknown = equality && value.text == "?";
  if (node.unknown) return std::make_shared<Node>(std::move(node));
  const auto number = number_of(field.type, value.text);
  if (!number) {
    return refuse(value.at,
                  fmt::format("'{}' is no value of {}", value.text.substr(0, 40), field.name),
                  std::string(example_of(field.type)));
  }
  node.number = *number;
  return std::make_shared<Node>(std::move(node));
}

}  // namespace

Result<NodePtr> parse_filter(std::string_view text) {
  if (text.size() > kLongestFilter) {
    return fail(Code::kInvalidArgument, fmt::format("column {}: a filter has at most {} characters",
                                                    kLongestFilter + 1, kLongestFilter));
  }
  return Parser(text).parse();
}

}  // namespace tranche::top
