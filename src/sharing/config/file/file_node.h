#pragma once
// A node of the configuration file, with its path and a way to report errors about it. All readers
// of the file's parts use it. Borrows the document, the file's name and the problems.

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
  int line() const { return line_; }  // line of the key
  const std::string& path() const { return path_; }
  Problems& problems() const { return problems_; }

  // Messages about this node: "file:line: path: what; remedy".
  void error(std::string_view what, std::string_view remedy) const;
  std::string where() const;

  // The children of a mapping whose keys are known (fields.h), under the known spelling. Unknown
  // keys are reported. Keys::kAnyCase: as in NVIDIA's plain structures; where NVIDIA's program
  // decodes by hand, case matters. If one key is written in two spellings, the exact one
  // counts, or else the last. Empty if the node is null; empty with an error if it is not a
  // mapping.
  struct Child;
  enum class Keys { kExact, kAnyCase };
  std::vector<Child> children(Keys keys) const;

  // The items of a list, as "path[0]", ...; nullopt and an error if this is not a list.
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

// The child under `key`; nullptr if there is none.
const FileNode* find_child(const std::vector<FileNode::Child>& children, std::string_view key);

// The value of a bool or a string; nullopt if null, or if it is something else (an error).
std::optional<bool> read_bool(const FileNode& node);
std::optional<std::string> read_string(const FileNode& node);
// The same for a value that may be a number or a word: "4", "50%", "off".
std::optional<std::string> read_scalar_text(const FileNode& node);

}  // namespace tranche::config
