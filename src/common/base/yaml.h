#pragma once
// Reads YAML (and so JSON) into a tree that keeps all that a validator needs: the line of every key
// and value, whether a scalar was quoted, and duplicate keys.
//
// yaml-cpp's own tree silently keeps the first of two equal keys, does not merge `<<`, and loses
// the difference between 4 and '4'. So this tree is built from yaml-cpp's events:
// - parse() reads only the first document of a stream, as NVIDIA's parser does, and notes where
//   another one begins.
// - Bytes that are not text are refused with their line: yaml-cpp treats some control characters as
//   the end.
// - If a key occurs twice, the last one wins, as in NVIDIA's parser, and the Document notes it.
// - `<<: *anchor` and `<<: [*a, *b]` are merged. Explicit keys win over merged ones.
// - Aliases are expanded up to kMaxNodes nodes and kMaxCopiedBytes bytes of text in total, so
//   neither many aliases of aliases ("billion laughs") nor many of one long text fill the memory.
//   What is kept for anchors counts too.
// Lines count from 1. Maps keep the order of the file.

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
  bool quoted = false;         // kScalar: in quotes, written as a block, or tagged !!str
  std::vector<Node> items;     // kSequence
  std::vector<Entry> entries;  // kMap

  // The value under `key` (exact spelling); nullptr: it is absent, or this is not a map.
  const Node* find(std::string_view key) const;
};

struct Entry {
  std::string key;
  int line = 1;  // line of the key
  Node value;
};

struct DuplicateKey {
  std::string key;
  int first_line = 1;
  int line = 1;  // line of the key that wins
};

struct Document {
  Node root;  // kNull for an empty document
  std::vector<DuplicateKey> duplicates;
  // The line where another non-empty document begins, which parse() does not read; 0: none.
  int next_line = 0;
};

// Whether a document is effectively empty: empty, or null, or a mapping whose keys have nothing
// under them. A text of comments only is empty too. Every reader of a user's file checks this.
bool says_nothing(const Node& root);
// The same for a text's first document. An unreadable text is not empty.
bool says_nothing(std::string_view text);

inline constexpr std::size_t kMaxNodes = 100'000;
// Text that anchors and aliases make beyond that of the file.
inline constexpr std::size_t kMaxCopiedBytes = std::size_t{4} << 20U;

// The hint in every error of parse().
inline constexpr std::string_view kRemedy = "correct the YAML";

// Messages begin with `name`: "name:line: what". kInvalidArgument: invalid YAML, a byte that is not
// text, a key that is not a scalar, an unknown alias, or more than is expanded.
Result<Document> parse(std::string_view text, std::string_view name);
// Every non-empty document of the stream. Together they have at most kMaxNodes nodes and
// kMaxCopiedBytes. Line numbers are those of the stream.
Result<std::vector<Document>> parse_all(std::string_view text, std::string_view name);

// Read plain scalars by the rules of YAML 1.1, as NVIDIA's parser does. nullopt: the scalar is
// quoted or does not have that form.
//
// Boolean: true, false, yes, no, on, off, y, n; each in lower case, in upper case, or with a
// capital first letter.
std::optional<bool> as_bool(const Node& node);
// Integer: decimal, 0x, 0o, 0b, a leading 0 (octal), `_` between digits, or a float without a
// fraction ("4.0", "1e3").
std::optional<std::int64_t> as_int(const Node& node);
// Whether the scalar is text: it is quoted, or not a boolean, integer or float.
bool is_text(const Node& node);

}  // namespace tranche::yaml
