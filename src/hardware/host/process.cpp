#include "host/process.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/lines.h"
#include "base/process_stat.h"

namespace tranche::host {
namespace {

// Bytes. Our own mounts in a container have short names, and a process may have a hundred thousand
// mounts with long ones.
constexpr std::size_t kLongestPath = 512;

bool leads_to(const std::filesystem::path& point, const std::filesystem::path& path) {
  const auto [end, ignored] = std::mismatch(point.begin(), point.end(), path.begin(), path.end());
  return end == point.end() || (std::next(end) == point.end() && end->empty());
}

// A file of /proc/<pid>. Reading it fails in several ways while the process ends: whether it is
// there afterwards is what counts.
Result<std::string> read_of(const FsRoot& fs, pid_t pid, std::string_view name) {
  const std::filesystem::path folder = fmt::format("/proc/{}", pid);
  auto text = fs.read(folder / name);
  if (text || (text.error().code != Code::kNotFound && fs.exists(folder))) return text;
  return fail(Code::kNotFound, fmt::format("{} has ended", pid));
}

// What an exiting process no longer has.
template <class T>
Result<T> or_empty(Result<T> value) {
  if (!value && value.error().code == Code::kNotFound) return T();
  return value;
}

Result<std::vector<Mount>> read_mounts(const FsRoot& fs, pid_t pid) {
  std::vector<Mount> mounts;
  TRY(each_mount(fs, std::to_string(pid), [&](const Mount& mount) {
    if (mount.root.size() > kLongestPath) return;
    // The container chooses the mount point, so that alone excludes none.
    const bool is_short = mount.point.size() <= kLongestPath;
    mounts.push_back({mount.device, mount.root, is_short ? mount.point : std::string()});
  }));
  return mounts;
}

}  // namespace

std::string parse_cgroup(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto line = take_line(text);
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const auto path = line.substr(second + 1);
    const bool is_v2 = line.starts_with("0:");
    if (is_v2 ? !is_in_pod(result) : !is_in_pod(result) && is_in_pod(path)) result = path;
  }
  return result;
}

Result<std::string> read_cgroup(const FsRoot& fs, pid_t pid) {
  ASSIGN_OR_RETURN(const auto text, read_of(fs, pid, "cgroup"));
  return parse_cgroup(text);
}

Result<ProcessFacts> read_process(const FsRoot& fs, pid_t pid) {
  ASSIGN_OR_RETURN(const auto text, read_of(fs, pid, "stat"));
  const auto stat = parse_process_stat(text);
  if (!stat) return fail(Code::kNotFound, fmt::format("{} has ended", pid));
  return ProcessFacts{.name = stat->name,
                      .parent = stat->parent,
                      .start_time = stat->start_time,
                      .cgroup = or_empty(read_cgroup(fs, pid)),
                      .mounts = or_empty(read_mounts(fs, pid))};
}

std::vector<Mount> own_mounts(const FsRoot& fs) {
  std::vector<Mount> mounts;
  const auto read = each_mount(fs, "self", [&](const Mount& mount) { mounts.push_back(mount); });
  return read ? mounts : std::vector<Mount>();
}

std::optional<Place> place_of(const std::vector<Mount>& mounts, const std::filesystem::path& path) {
  const Mount* nearest = nullptr;
  for (const Mount& mount : mounts) {
    // If two mounts are on one point the later one hides the other, so equal lengths replace too.
    if (!leads_to(mount.point, path)) continue;
    if (nearest == nullptr || mount.point.size() >= nearest->point.size()) nearest = &mount;
  }
  if (nearest == nullptr) return std::nullopt;
  const auto below = path.lexically_relative(nearest->point);
  const auto root = below == "." ? std::filesystem::path(nearest->root) : nearest->root / below;
  return Place{nearest->device, root.string()};
}

std::optional<PodProcess> pod_process(std::string_view cgroup) {
  constexpr std::size_t kHash = 32;  // length of a static Pod's uid, which is a hash
  constexpr std::size_t kUid = 36;
  constexpr std::size_t kContainer = 64;
  const auto digits = [](std::string_view text) {
    return static_cast<std::size_t>(std::ranges::find_if_not(text,
                                                             [](char c) {
                                                               return (c >= '0' && c <= '9') ||
                                                                      (c >= 'a' && c <= 'f') ||
                                                                      c == '-' || c == '_';
                                                             }) -
                                    text.begin());
  };
  for (auto at = cgroup.find("pod"); at != std::string_view::npos;
       at = cgroup.find("pod", at + 1)) {
    if (at == 0 || (cgroup[at - 1] != '/' && cgroup[at - 1] != '-')) continue;
    const auto rest = cgroup.substr(at + 3);
    const auto length = digits(rest);
    if (length != kUid && length != kHash) continue;
    PodProcess result{.pod_uid = std::string(rest.substr(0, length)), .container = {}};
    std::ranges::replace(result.pod_uid, '_', '-');
    const auto slash = rest.find('/');
    auto below = slash == std::string_view::npos ? "" : rest.substr(slash + 1);
    below = below.substr(0, below.find('/'));
    if (below.ends_with(".scope")) below.remove_suffix(std::string_view(".scope").size());
    const auto id = below.substr(below.size() - std::min(below.size(), kContainer));
    if (digits(id) == kContainer) result.container = std::string(id);
    return result;
  }
  return std::nullopt;
}

bool is_in_pod(std::string_view cgroup) {
  if (cgroup.find("kubepods") != std::string_view::npos) return true;
  // Seen from another Pod's namespace, the path lacks the part that both have in common.
  for (auto at = cgroup.find("/pod"); at != std::string_view::npos;
       at = cgroup.find("/pod", at + 1)) {
    const auto uid = cgroup.substr(at + 4, cgroup.find('/', at + 1) - at - 4);
    const auto is_digit = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-' || c == '_';
    };
    if (uid.size() >= 32 && std::ranges::all_of(uid, is_digit)) return true;
  }
  return false;
}

}  // namespace tranche::host
