#pragma once
// A node of the configuration file with its path and the means to complain about it: what the
// readers of the file's parts share. Refers to the document, the file's name and the problems; all
// outlive it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"
#include "config/problems.h"

namespace tranche::config {

class FileNode {
 public:
  FileNode(const yaml::Node& node, int line, std::string path, const std::string& file,
           Problems& problems)
      : node_(node), line_(line), path_(std::move(path)), file_(file), problems_(problems) {}

  const yaml::Node& node() const { return node_; }
  bool is_null() const { return node_.kind == yaml::Kind::kNull; }
  int line() const { return line_; }  // of the key
  const std::string& path() const { return path_; }
  Problems& problems() const { return problems_; }

  // Messages about this node: "file:line: path: what; remedy".
  void error(std::string_view what, std::string_view remedy) const;
  std::string where() const;

  // The children of a mapping that stand under known keys (fields.h), named by the known spelling.
  // NVIDIA's program matches keys without case in its plain structures (`any_case`), and with case
  // where it decodes by hand. Unknown keys are reported; of two spellings of one key the exact one
  // counts, else the last. An error, and empty, when this is no mapping; empty when it is null.
  struct Child;
  std::vector<Child> children(bool any_case) const;

  // The items of a list, as "path[0]", ...; nullopt and an error when this is no list.
  std::optional<std::vector<FileNode>> items() const;

 private:
  void report_unknown(const yaml::Entry& entry, const std::vector<std::string_view>& known) const;

  const yaml::Node& node_;
  int line_;
  std::string path_;
  const std::string& file_;
  Problems& problems_;
};

struct FileNode::Child {
  std::string_view key;
  FileNode value;
};

// The child under `key`; nullptr when there is none.
const FileNode* find_child(const std::vector<FileNode::Child>& children, std::string_view key);

// The value of a bool or of a string; nullopt when null, or when it is something else (an error).
std::optional<bool> read_bool(const FileNode& node);
std::optional<std::string> read_string(const FileNode& node);

}  // namespace tranche::config
