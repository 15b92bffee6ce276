#pragma once
// Collects the errors and warnings of one pass over a configuration, so that a user sees all of
// them at once.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::config {

class Problems {
 public:
  // `strict`: suspicious things (unknown and duplicate keys) are errors.
  explicit Problems(bool strict) : strict_(strict) {}

  // Formats "where: what; remedy", without the remedy if it is empty.
  void error(std::string_view where, std::string_view what, std::string_view remedy);
  // An error that already includes its place.
  void error(const Error& error);
  void warn(std::string_view where, std::string_view what, std::string_view remedy);
  // An error if strict. Otherwise a warning; `otherwise` states how the text was interpreted.
  void suspicious(std::string_view where, std::string_view what, std::string_view otherwise,
                  std::string_view remedy);

  bool any_errors() const { return !errors_.empty(); }
  // One error per line, the first fifty.
  Error as_error(Code code) const;
  // The first fifty, and how many more.
  std::vector<std::string> warnings() const;

 private:
  bool strict_;
  std::vector<std::string> errors_;
  std::vector<std::string> warnings_;
};

}  // namespace tranche::config
