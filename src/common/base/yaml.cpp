#include "base/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>
#include <unordered_map>

#include "base/utf8.h"

namespace tranche::yaml {
namespace {

// Thrown in yaml-cpp's callbacks and caught in parse(): a callback has no other way to end the
// read.
struct Refused {
  int line;
  std::string what;
};

bool is_null_text(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

// What a copy of a node takes.
struct Weight {
  std::size_t nodes = 0;
  std::size_t bytes = 0;  // of text
};

void weigh(const Node& node, Weight& weight) {
  ++weight.nodes;
  weight.bytes += node.scalar.size();
  for (const auto& item : node.items) weigh(item, weight);
  for (const auto& entry : node.entries) {
    ++weight.nodes;
    weight.bytes += entry.key.size();
    weigh(entry.value, weight);
  }
}

class TreeBuilder final : public YAML::EventHandler {
 public:
  // `before`: what earlier documents of the stream took.
  explicit TreeBuilder(Document& document, Weight before = {})
      : document_(document), taken_(before) {}

  const Weight& taken() const { return taken_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(Node{.line = line_of(mark)}, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Refused{line_of(mark), "an alias inside its own anchor"};
    count_copy(line_of(mark), found->second);
    place(found->second, line_of(mark));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node{.line = line_of(mark)};
    node.quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    if (node.quoted || !is_null_text(value)) {
      node.kind = Kind::kScalar;
      node.scalar = value;
    }
    add(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Kind::kSequence, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Kind::kMap, mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    Node node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    std::string key = {};
    int key_line = 0;
    std::vector<Node> merges = {};
    // The place of each key in node.entries, because a mapping may have a hundred thousand keys.
    std::unordered_map<std::string, std::size_t> index = {};
  };

  static int line_of(const YAML::Mark& mark) { return mark.line + 1; }

  void count(int line, std::size_t nodes) {
    taken_.nodes += nodes;
    if (taken_.nodes <= kMaxNodes) return;
    throw Refused{line, fmt::format("more than {} values", kMaxNodes)};
  }

  // Before the copy is made.
  void count_copy(int line, const Node& node) {
    Weight weight;
    weigh(node, weight);
    count(line, weight.nodes);
    taken_.bytes += weight.bytes;
    if (taken_.bytes <= kMaxCopiedBytes) return;
    throw Refused{line, fmt::format("anchors and aliases copy more than {} MiB of text",
                                    kMaxCopiedBytes >> 20U)};
  }

  void open(Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    count(line_of(mark), 1);
    if (!stack_.empty() && stack_.back().node.kind == Kind::kMap && !stack_.back().has_key) {
      throw Refused{line_of(mark), "a key must be plain text"};
    }
    stack_.push_back({.node = {.kind = kind, .line = line_of(mark)}, .anchor = anchor});
  }

  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    for (const auto& merge : frame.merges) merge_into(frame, merge);
    const int line = frame.node.line;
    if (frame.anchor != 0) {
      count_copy(line, frame.node);
      anchors_[frame.anchor] = frame.node;
    }
    place(std::move(frame.node), line);
  }

  void add(Node node, YAML::anchor_t anchor) {
    count(node.line, 1);
    if (anchor != 0) {
      count_copy(node.line, node);
      anchors_[anchor] = node;
    }
    const int line = node.line;
    place(std::move(node), line);
  }

  // Puts a finished node at the parser's position: as a key, a value, an item or the root.
  void place(Node node, int line) {
    if (stack_.empty()) {
      document_.root = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node.kind == Kind::kSequence) {
      frame.node.items.push_back(std::move(node));
    } else if (!frame.has_key) {
      set_key(frame, node, line);
    } else {
      frame.has_key = false;
      set_value(frame, std::move(node));
    }
  }

  static void set_key(Frame& frame, const Node& node, int line) {
    if (node.kind != Kind::kScalar && node.kind != Kind::kNull) {
      throw Refused{line, "a key must be plain text"};
    }
    frame.key = node.kind == Kind::kNull ? "null" : node.scalar;
    frame.key_line = line;
    frame.has_key = true;
  }

  void set_value(Frame& frame, Node value) {
    if (frame.key == "<<") {
      take_merge(frame, std::move(value));
      return;
    }
    auto& entries = frame.node.entries;
    const auto [known, added] = frame.index.emplace(frame.key, entries.size());
    if (added) {
      entries.push_back({frame.key, frame.key_line, std::move(value)});
      return;
    }
    auto& same = entries[known->second];
    document_.duplicates.push_back({frame.key, same.line, frame.key_line});
    same.line = frame.key_line;
    same.value = std::move(value);
  }

  static void take_merge(Frame& frame, Node value) {
    if (value.kind == Kind::kMap) {
      frame.merges.push_back(std::move(value));
      return;
    }
    const bool maps =
        value.kind == Kind::kSequence &&
        std::ranges::all_of(value.items, [](const Node& n) { return n.kind == Kind::kMap; });
    if (!maps) throw Refused{frame.key_line, "'<<' merges a mapping or a list of mappings"};
    for (auto& item : value.items) frame.merges.push_back(std::move(item));
  }

  static void merge_into(Frame& frame, const Node& merged) {
    for (const auto& entry : merged.entries) {
      const bool added = frame.index.emplace(entry.key, frame.node.entries.size()).second;
      if (added) frame.node.entries.push_back(entry);
    }
  }

  Document& document_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, Node> anchors_;
  Weight taken_;
};

std::optional<std::int64_t> parse_digits(std::string_view digits, int base, bool negative) {
  std::uint64_t magnitude = 0;
  const auto* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, magnitude, base);
  if (digits.empty() || error != std::errc() || stop != end) return std::nullopt;
  if (magnitude > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  const auto value = static_cast<std::int64_t>(magnitude);
  return negative ? -value : value;
}

// "4.5", "-.5e3", ".inf", ".NaN".
bool is_float_text(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  static constexpr std::array kWords = {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"};
  if (std::ranges::find(kWords, text) != kWords.end()) return true;
  double value = 0;
  const auto* end = text.data() + text.size();
  const auto begins = text.empty() ? '\0' : text.front();
  const bool number = begins == '.' || (begins >= '0' && begins <= '9');
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return number && error != std::errc::invalid_argument && stop == end;
}

std::optional<std::int64_t> whole_float(std::string_view text) {
  double value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  constexpr double kExact = 9007199254740992.0;  // 2^53: above it not every integer is a double
  if (!std::isfinite(value) || std::trunc(value) != value || std::fabs(value) > kExact) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(value);
}

// Control characters, including NUL, and invalid UTF-8: neither is text in YAML.
Result<void> check_text(std::string_view text, std::string_view name) {
  int line = 1;
  for (std::size_t at = 0; at < text.size();) {
    const auto step = utf8_step(text.substr(at));
    const auto byte = static_cast<unsigned char>(text[at]);
    if (!step.is_valid || (byte < ' ' && byte != '\t' && byte != '\n' && byte != '\r')) {
      return fail(Code::kInvalidArgument,
                  fmt::format("{}:{}: byte {:#04x} here is no text", name, line, byte),
                  "write the file in UTF-8");
    }
    if (byte == '\n') ++line;
    at += step.length;
  }
  return {};
}

// Runs `read`, and converts its exceptions to errors.
template <class Read>
Result<void> guarded(std::string_view name, const Read& read) {
  const auto refuse = [&](int line, std::string_view what) {
    return fail(Code::kInvalidArgument, fmt::format("{}:{}: {}", name, line, what),
                std::string(kRemedy));
  };
  try {
    read();
  } catch (const Refused& refused) {
    return refuse(refused.line, refused.what);
  } catch (const YAML::Exception& error) {
    return refuse(error.mark.is_null() ? 1 : error.mark.line + 1, error.msg);
  }
  return {};
}

// Where the unread part of the stream begins; 0: only empty documents follow.
int next_line(YAML::Parser& parser, Weight taken) {
  try {
    for (;;) {
      Document document;
      TreeBuilder builder(document, taken);
      if (!parser.HandleNextDocument(builder)) return 0;
      taken = builder.taken();
      if (document.root.kind != Kind::kNull) return document.root.line;
    }
  } catch (const Refused& refused) {
    return refused.line;
  } catch (const YAML::Exception& error) {
    return error.mark.is_null() ? 1 : error.mark.line + 1;
  }
}

}  // namespace

std::string_view describe(Kind kind) {
  switch (kind) {
    case Kind::kNull:
      return "null";
    case Kind::kScalar:
      return "a scalar";
    case Kind::kSequence:
      return "a list";
    case Kind::kMap:
      return "a mapping";
  }
  return "unknown";
}

const Node* Node::find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? nullptr : &found->value;
}

bool says_nothing(const Node& root) {
  const auto is_empty = [](const Entry& entry) {
    const auto& value = entry.value;
    return value.kind == Kind::kNull || (value.kind == Kind::kMap && value.entries.empty());
  };
  return root.kind == Kind::kNull ||
         (root.kind == Kind::kMap && std::ranges::all_of(root.entries, is_empty));
}

bool says_nothing(std::string_view text) {
  const auto document = parse(text, "");
  return document && says_nothing(document->root);
}

Result<Document> parse(std::string_view text, std::string_view name) {
  TRY(check_text(text, name));
  Document document;
  TreeBuilder builder(document);
  std::istringstream stream{std::string(text)};
  std::optional<YAML::Parser> parser;
  TRY(guarded(name, [&] { parser.emplace(stream).HandleNextDocument(builder); }));
  document.next_line = next_line(*parser, builder.taken());
  return document;
}

Result<std::vector<Document>> parse_all(std::string_view text, std::string_view name) {
  TRY(check_text(text, name));
  std::vector<Document> documents;
  TRY(guarded(name, [&] {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Weight taken;
    for (;;) {
      Document document;
      TreeBuilder builder(document, taken);
      if (!parser.HandleNextDocument(builder)) return;
      taken = builder.taken();
      if (document.root.kind != Kind::kNull) documents.push_back(std::move(document));
    }
  }));
  return documents;
}

std::optional<bool> as_bool(const Node& node) {
  if (node.kind != Kind::kScalar || node.quoted) return std::nullopt;
  static constexpr std::array kTrue = {"true", "True", "TRUE", "yes", "Yes", "YES",
                                       "on",   "On",   "ON",   "y",   "Y"};
  static constexpr std::array kFalse = {"false", "False", "FALSE", "no", "No", "NO",
                                        "off",   "Off",   "OFF",   "n",  "N"};
  if (std::ranges::find(kTrue, node.scalar) != kTrue.end()) return true;
  if (std::ranges::find(kFalse, node.scalar) != kFalse.end()) return false;
  return std::nullopt;
}

std::optional<std::int64_t> as_int(const Node& node) {
  if (node.kind != Kind::kScalar || node.quoted) return std::nullopt;
  std::string text;
  std::ranges::remove_copy(node.scalar, std::back_inserter(text), '_');
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.starts_with('-') || digits.starts_with('+')) return std::nullopt;
  if (digits.starts_with("0x")) return parse_digits(digits.substr(2), 16, negative);
  if (digits.starts_with("0o")) return parse_digits(digits.substr(2), 8, negative);
  if (digits.starts_with("0b")) return parse_digits(digits.substr(2), 2, negative);
  const bool octal = digits.size() > 1 && digits.starts_with('0') &&
                     digits.find_first_not_of("01234567") == std::string_view::npos;
  if (auto value = parse_digits(digits, octal ? 8 : 10, negative)) return value;
  const auto value = whole_float(digits);
  if (!value) return std::nullopt;
  return negative ? -*value : *value;
}

bool is_text(const Node& node) {
  if (node.kind != Kind::kScalar) return false;
  return node.quoted || (!as_bool(node) && !as_int(node) && !is_float_text(node.scalar));
}

}  // namespace tranche::yaml
