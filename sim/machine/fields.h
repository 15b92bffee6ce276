#pragma once
// Reads a YAML mapping field by field and collects all complaints, so that the author of a machine
// file sees them all at once: "l20.yaml:12: gpus[0].numa: ...". A key that was never read is a
// complaint too. Used while one file is read; not thread-safe.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"

namespace tranche::sim {

class Complaints {
 public:
  explicit Complaints(std::string file) : file_(std::move(file)) {}
  void add(int line, std::string_view path, std::string_view what);
  // Success, or one kInvalidArgument error with all complaints, one per line.
  Result<void> result() const;

 private:
  std::string file_;
  std::vector<std::string> lines_;
};

class Fields {
 public:
  // `path` names the mapping in messages ("gpus[0]"); empty for the document itself.
  Fields(const yaml::Node& node, std::string path, Complaints& complaints);
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;
  // Complains about the keys that were never read.
  ~Fields();

  // The value under `key`, or nullptr if absent or null.
  const yaml::Node* find(std::string_view key);
  // Each leaves `out` unchanged if the key is absent, and complains if it is absent and
  // `required`.
  void text(std::string_view key, std::string& out, bool required = false);
  void number(std::string_view key, std::uint32_t& out, std::int64_t low, std::int64_t high,
              bool required = false);
  void flag(std::string_view key, bool& out);
  void bytes(std::string_view key, std::uint64_t& out, bool required = false);
  // The items of a list (none if absent).
  const std::vector<yaml::Node>& list(std::string_view key);

  std::string path_of(std::string_view key) const;
  void complain(int line, std::string_view key, std::string_view what);
  int line() const { return node_.line; }

 private:
  const yaml::Node* wanted(std::string_view key, bool required);

  const yaml::Node& node_;
  std::string path_;
  Complaints& complaints_;
  std::vector<std::string> asked_;
};

}  // namespace tranche::sim
