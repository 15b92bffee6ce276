#include "host/cgroup.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>

#include "base/lines.h"
#include "host/process.h"

namespace tranche::host {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kIdLength = 64;

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// A run of exactly 64 hex digits.
bool holds_id(std::string_view name) {
  std::size_t run = 0;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    if (i < name.size() && is_hex(name[i])) {
      ++run;
      continue;
    }
    if (run == kIdLength) return true;
    run = 0;
  }
  return false;
}

bool lists(const fs::path& folder, pid_t pid) {
  // 4 Mi processes at most (pid_max), each on a line of 8 bytes.
  constexpr std::size_t kLongest = std::size_t{32} << 20U;
  const auto text = FsRoot().read(folder / "cgroup.procs", kLongest);
  if (!text) return false;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const auto line = take_line(rest);
    pid_t one = 0;
    std::from_chars(line.data(), line.data() + line.size(), one);
    if (one == pid) return true;
  }
  return false;
}

// Walks folder trees level by level. All walks of one object together visit at most kMostFolders
// folders.
class Walk {
 public:
  template <class Take>
  bool find(const fs::path& top, Take take) {
    std::deque<fs::path> waiting{top};
    while (!waiting.empty() && left_ > 0) {
      --left_;
      const fs::path folder = std::move(waiting.front());
      waiting.pop_front();
      if (take(folder)) return true;
      std::error_code error;  // groups may be removed during the walk
      for (fs::directory_iterator at(folder, error), end; !error && at != end;
           at.increment(error)) {
        std::error_code ignored;
        if (at->is_directory(ignored) && !at->is_symlink(ignored)) waiting.push_back(at->path());
      }
    }
    return false;
  }

 private:
  std::size_t left_ = kMostFolders;
};

}  // namespace

std::optional<std::string> container_level(std::string_view cgroup) {
  std::string level;
  std::optional<std::string> found;
  bool in_pod = false;
  bool found_in_pod = false;
  while (!cgroup.empty()) {
    const auto name = cgroup.substr(0, cgroup.find('/'));
    cgroup.remove_prefix(std::min(cgroup.size(), name.size() + 1));
    if (name.empty() || name == "..") continue;
    if (!level.empty()) level += '/';
    level += name;
    if (holds_id(name)) {
      if (!found || (in_pod && !found_in_pod)) found = level;
      found_in_pod |= in_pod;
    }
    in_pod |= is_in_pod(fmt::format("/{}", name));
  }
  return found;
}

std::optional<std::string> container_of(std::string_view cgroup) {
  if (!is_in_pod(cgroup)) return std::nullopt;
  const auto level = container_level(cgroup);
  return level ? *level : std::string(cgroup);
}

bool is_cgroup_v2(const fs::path& root) { return FsRoot().exists(root / "cgroup.controllers"); }

Result<fs::path> find_container_cgroup(const FsRoot& host, const fs::path& root, pid_t pid,
                                       std::uint64_t start_time) {
  ASSIGN_OR_RETURN(const auto facts, read_process(host, pid));
  if (facts.start_time != start_time) {
    return fail(Code::kNotFound, fmt::format("{} has ended", pid));
  }
  TRY(facts.cgroup);
  const auto level = container_level(*facts.cgroup);
  if (!level) {
    return fail(Code::kNotFound, fmt::format("process {} ({}) is in no container: its control "
                                             "group is '{}'",
                                             pid, facts.name, *facts.cgroup));
  }
  fs::path found;
  Walk walk;
  const auto has_process = [&](const fs::path& folder) { return lists(folder, pid); };
  // What "/.." stood for is not known here, so the path is tried below every folder of the tree.
  walk.find(root, [&](const fs::path& folder) {
    auto candidate = folder / *level;
    std::error_code ignored;
    if (!fs::is_directory(candidate, ignored)) return false;
    if (!walk.find(candidate, has_process)) return false;
    found = std::move(candidate);
    return true;
  });
  if (!found.empty()) return found;
  return fail(
      Code::kNotFound,
      fmt::format("no control group '{}' with process {} below {}", *level, pid, root.string()),
      "mount the node's cgroup v2 tree there, or name it with --cgroup-root");
}

}  // namespace tranche::host
