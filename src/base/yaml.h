#pragma once
// YAML (and so JSON) as a tree that forgets nothing a validator needs: the line of every key and
// value, whether a scalar was quoted, and duplicate keys.
//
// yaml-cpp by itself keeps the first of two equal keys in silence, does not merge `<<`, and loses
// the difference between 4 and '4'. Here the tree is built from its events:
// - the first document of a stream is read, as NVIDIA's parser does;
// - duplicate keys: the last wins, as in NVIDIA's parser, and the document carries a note;
// - `<<: *anchor` and `<<: [*a, *b]` are merged; keys written out win over merged ones;
// - aliases are expanded, up to kMaxNodes nodes in all (a "billion laughs" file is refused).
// Lines are 1-based. Maps keep the order of the file.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tranche::yaml {

enum class Kind { kNull, kScalar, kSequence, kMap };

// "null", "a scalar", "a list", "a mapping": for messages.
std::string_view describe(Kind kind);

struct Entry;

struct Node {
  Kind kind = Kind::kNull;
  int line = 1;
  std::string scalar;          // kScalar: the text without quotes
  bool quoted = false;         // kScalar: written in quotes or as a block, or tagged !!str
  std::vector<Node> items;     // kSequence
  std::vector<Entry> entries;  // kMap

  // The value under `key` (exact spelling); nullptr when absent or when this is no map.
  const Node* find(std::string_view key) const;
};

struct Entry {
  std::string key;
  int line = 1;  // of the key
  Node value;
};

struct DuplicateKey {
  std::string key;
  int first_line = 1;
  int line = 1;  // of the one that wins
};

struct Document {
  Node root;  // kNull for an empty document
  std::vector<DuplicateKey> duplicates;
};

inline constexpr std::size_t kMaxNodes = 100'000;

// `name` stands at the head of messages: "name:line: what". kInvalidArgument for broken YAML, a key
// that is no scalar, an unknown alias, too many nodes.
Result<Document> parse(std::string_view text, std::string_view name);

// Plain scalars as YAML 1.1 reads them, the rules of NVIDIA's parser. nullopt when the scalar is
// quoted or does not have that form.
// Boolean: true, false, yes, no, on, off, y, n in the usual three spellings each.
std::optional<bool> as_bool(const Node& node);
// Integer: decimal, 0x, 0o, 0b, leading 0 (octal), `_` between digits, and a float without a
// fraction ("4.0", "1e3").
std::optional<std::int64_t> as_int(const Node& node);

}  // namespace tranche::yaml
