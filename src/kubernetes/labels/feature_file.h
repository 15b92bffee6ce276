#pragma once
// A file of labels for node feature discovery (NFD): `key=value` lines in NFD's features.d folder,
// which NFD's local source turns into node labels. This header has the text, the file, and the
// check of who owns the file.
//
// Two writers of one file would overwrite each other forever. So with `--labels auto` the agent
// asks FeatureFile::owner() first. A hidden file next to it marks our own file (".gfd.tranche",
// with the size and a checksum of the last text; NFD ignores hidden files). A mark inside the file
// was rejected: older NFD turns comment lines into labels, and the text would no longer equal that
// of NVIDIA's GPU feature discovery. Another writer's file counts as in use while its age is below
// kStale, two of NVIDIA's intervals. An abandoned one (uninstalled, --oneshot) is taken over.

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/fs.h"
#include "base/result.h"
#include "config/config.h"
#include "labels/label_set.h"

namespace tranche::labels {

// "key=value\n" for every label, by key.
std::string render(const Labels& labels);

// Parses as NFD does. Blank lines and lines that begin with '#' are skipped. A line without '=' is
// a key with the value "true". The last of several lines with one key counts. kInvalidArgument: a
// line without a key; the message has its number.
Result<Labels> parse(std::string_view text);

// Whether the file is removed at exit. NVIDIA's rule: a file that was written once (oneshot, or an
// infinite interval) stays. Standard output cannot be removed.
bool removed_on_exit(const config::GfdFlags& flags);

// One feature file, e.g. /etc/kubernetes/node-feature-discovery/features.d/gfd. Not thread-safe;
// holds no resources. If `fs` is a folder, paths are inside it.
class FeatureFile {
 public:
  enum class Owner {
    kNobody,     // no file
    kUs,         // our last text, from this run or an earlier one
    kOther,      // another writer's and in use; must not be changed
    kAbandoned,  // another writer's, unchanged for kStale
  };
  static constexpr std::chrono::seconds kStale{120};

  FeatureFile(FsRoot fs, std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  // Whether the folder exists. Without NFD on the node it does not, and nothing would read the
  // file.
  bool folder_exists() const;
  // `now`: wall clock, compared with the file's modification time. A time in the future counts by
  // its distance, so a wrong clock cannot block the file forever.
  Result<Owner> owner(std::chrono::system_clock::time_point now) const;

  // Replaces the file atomically (0644) and marks it as ours. The folder must exist.
  Result<void> write(const Labels& labels) const;
  // Removes the file if it is ours; another writer's file stays.
  Result<void> remove() const;

 private:
  std::filesystem::path mark_path() const;
  Result<bool> is_ours() const;

  FsRoot fs_;
  std::filesystem::path path_;
};

std::string_view to_string(FeatureFile::Owner owner);

}  // namespace tranche::labels
