#pragma once
// A value of a document with its place, and the list of findings. A checker gets a Place, reports
// its findings, and corrects the tree below it. It checks the parts first and moves them last, so
// that paths refer to the original text.

#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"
#include "explain/lint/finding.h"

namespace tranche::lint {

// Findings of one file.
class Report {
 public:
  void add(Finding finding);
  // Sets the object that the following findings are about.
  void begin_object(std::string object) { object_ = std::move(object); }

  std::vector<Finding> take() { return std::move(findings_); }
  std::size_t errors() const { return errors_; }
  std::size_t corrections() const { return corrections_; }
  // Findings beyond what a person reads; they are counted, not kept.
  std::size_t left_out() const { return left_out_; }

  // A resource for which it is unknown whether a node offers it.
  void add_unseen(const std::string& resource) { unseen_.insert(resource); }
  const std::set<std::string>& unseen() const { return unseen_; }

 private:
  std::vector<Finding> findings_;
  std::size_t left_out_ = 0;
  std::size_t errors_ = 0;
  std::size_t corrections_ = 0;
  std::set<std::string> unseen_;
  std::string object_;
};

class Place {
 public:
  // The node and the report must outlive it.
  Place(yaml::Node& node, int line, std::string path, Report& report)
      : node_(&node), line_(line), path_(std::move(path)), report_(&report) {}

  yaml::Node& node() const { return *node_; }
  int line() const { return line_; }  // of the key, if there is one
  const std::string& path() const { return path_; }
  Report& report() const { return *report_; }

  bool has(std::string_view key) const { return node_->find(key) != nullptr; }
  // nullopt: absent, null, or this is not a map.
  std::optional<Place> child(std::string_view key) const;
  // The same for a value of this kind; another kind is an error.
  std::optional<Place> map(std::string_view key) const;
  // The items of a list, each of which must be a map. Empty if absent.
  std::vector<Place> list_of_maps(std::string_view key) const;
  std::vector<Place> items() const;
  // The values of a map, by its keys.
  std::vector<Place> members() const;
  // The scalar under the key; empty if absent or not a scalar.
  std::string text(std::string_view key) const;

  // Reports a problem that was corrected.
  void corrected(std::string what, std::string fix) const;
  // Reports a problem whose intended meaning is unknown: `fix` says what to do.
  void error(std::string what, std::string fix) const;
  void doubt(std::string what, std::string fix) const;
  void note(std::string what, std::string fix = {}) const;
  // Every key not in `known` is an error, with the nearest known one.
  void check_keys(std::initializer_list<std::string_view> known) const;
  bool is_map() const { return node_->kind == yaml::Kind::kMap; }

  // Modify the tree.
  void set_text(std::string text) const;
  yaml::Node take(std::string_view key) const;  // removes the member; kNull: there was none
  void put(std::string_view key, yaml::Node value) const;

 private:
  Place member(yaml::Entry& entry) const;
  void say(Level level, std::string what, std::string fix, bool corrected) const;

  yaml::Node* node_;
  int line_;
  std::string path_;
  Report* report_;
};

// A text embedded in the file, such as in a ConfigMap's key: its first line is line `first` of the
// file, and `path` is its place. `one_line`: all findings are reported for line `first`.
struct TextPlace {
  int first = 1;
  std::string path = {};
  bool one_line = false;
};

yaml::Node text_node(std::string text, bool quoted = true);
yaml::Node word_node(std::string text);  // without quotes
yaml::Node map_node();
yaml::Node list_node();

// Text of the file for a message: printable, with limited length.
std::string shown(std::string_view text);
// "did you mean \"x\"?" if the word is nearly one of `known`, or the beginning of one; else
// `otherwise`.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known,
                         std::string otherwise);

}  // namespace tranche::lint
