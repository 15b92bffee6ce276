#pragma once
// Collects the errors and warnings of one reading of a configuration, so that a user sees all of
// them at once.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::config {

class Problems {
 public:
  // `strict`: what is only suspicious (unknown and duplicate keys) is an error.
  explicit Problems(bool strict) : strict_(strict) {}

  // "where: what; remedy", the remedy left out when empty.
  void error(std::string_view where, std::string_view what, std::string_view remedy);
  // An error that already says where.
  void error(const Error& error);
  void warn(std::string_view where, std::string_view what, std::string_view remedy);
  // An error if strict. Otherwise a warning; `otherwise` says how the text was understood.
  void suspicious(std::string_view where, std::string_view what, std::string_view otherwise,
                  std::string_view remedy);

  bool any_errors() const { return !errors_.empty(); }
  // One error a line, the first fifty.
  Error as_error(Code code) const;
  // The first fifty, and how many more.
  std::vector<std::string> warnings() const;

 private:
  bool strict_;
  std::vector<std::string> errors_;
  std::vector<std::string> warnings_;
};

}  // namespace tranche::config
