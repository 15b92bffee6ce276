#pragma once
// Labels as node feature discovery (NFD) reads them: a file of `key=value` lines in its features.d
// folder, whose local source turns them into node labels. The text, the file, and who owns it.
//
// Two writers of one file would undo each other for ever, so with `--labels auto` the agent asks
// FeatureFile::owner() first. What is ours is known by a hidden file beside it (".gfd.tranche", the
// size and a checksum of what was written last; NFD ignores hidden files). A mark inside the file
// was rejected: comment lines become labels in older NFD, and the text would no longer be what
// NVIDIA's GPU feature discovery writes. A foreign file counts as alive while its age is below
// kStale, two of NVIDIA's intervals; an abandoned one (uninstalled, --oneshot) is taken over.

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

// The reverse, as NFD reads: blank lines and lines from '#' on are skipped, a line without '=' is a
// key with the value "true", of a repeated key the last counts. kInvalidArgument: a line without a
// key, by number.
Result<Labels> parse(std::string_view text);

// Whether the file is taken away at exit. NVIDIA's rule: not what was written once (oneshot, or an
// infinite interval), and standard output cannot be.
bool removed_on_exit(const config::GfdFlags& flags);

// One feature file, e.g. /etc/kubernetes/node-feature-discovery/features.d/gfd. Not thread-safe;
// holds no resources. Where `fs` is a folder, paths are inside it.
class FeatureFile {
 public:
  enum class Owner {
    kNobody,     // no file
    kUs,         // what we wrote last, in this run or an earlier one
    kOther,      // another writer's, and fresh: leave it
    kAbandoned,  // another writer's, not touched for kStale
  };
  static constexpr std::chrono::seconds kStale{120};

  FeatureFile(FsRoot fs, std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  // Whether the folder is there: without NFD on the node it is not, and nobody would read the file.
  bool folder_exists() const;
  // `now`: wall clock, compared with the file's time of change. A time from the future counts by
  // its distance, so that a wrong clock cannot lock the file for ever.
  Result<Owner> owner(std::chrono::system_clock::time_point now) const;

  // Replaces the file in one step (0644) and marks it as ours. The folder must exist.
  Result<void> write(const Labels& labels) const;
  // Takes the file away if it is ours; someone else's stays.
  Result<void> remove() const;

 private:
  std::filesystem::path mark_path() const;
  Result<bool> is_ours() const;

  FsRoot fs_;
  std::filesystem::path path_;
};

std::string_view to_string(FeatureFile::Owner owner);

}  // namespace tranche::labels
