// Arbitrary text as /proc/<pid>/stat, cgroup and mountinfo, and as a process's name. The first byte
// chooses which; the rest is the text.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/process_stat.h"
#include "host/cgroup.h"
#include "host/mounts.h"
#include "host/process.h"

namespace {

using namespace tranche;

void require(bool holds) {
  if (!holds) std::abort();
}

// A process may have any name, and its stat is readable all the same. A torn one has no start time;
// a wrong one would be another process's.
void check_name(std::string_view name) {
  constexpr std::size_t kLongestName = 15;
  name = name.substr(0, kLongestName);
  const auto head =
      fmt::format("42 ({}) S 1 42 42 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 8123 ", name);
  const auto whole = parse_process_stat(head + "1000 10 1\n");
  require(whole && whole->name == name && whole->start_time == 8123);
  for (std::size_t length = 0; length < head.size(); ++length) {
    require(!parse_process_stat(std::string_view(head).substr(0, length)));
  }
}

void check_stat(std::string_view text) {
  if (const auto stat = parse_process_stat(text)) {
    require(text.find(fmt::format("({})", stat->name)) != text.npos);
  }
}

void check_pod(std::string_view cgroup) {
  if (const auto pod = host::pod_process(cgroup)) {
    require(pod->pod_uid.size() == 36 || pod->pod_uid.size() == 32);
    require(pod->pod_uid.find_first_of("_/.") == std::string::npos);
    require(pod->container.empty() || pod->container.size() == 64);
    require(cgroup.find(pod->container) != cgroup.npos);
  }
  if (const auto level = host::container_level(cgroup)) {
    // It is looked up below a folder of the node, and must not lead out of it.
    require(level->size() >= 64 && level->size() <= cgroup.size() && level->front() != '/');
    for (const auto& part : std::filesystem::path(*level)) require(part != ".." && !part.empty());
  }
}

void check_cgroup(std::string_view text) {
  const auto cgroup = host::parse_cgroup(text);
  require(cgroup.empty() || text.find(":" + cgroup) != text.npos);
  require(cgroup.find('\n') == std::string::npos);
  check_pod(cgroup);
  check_pod(text);
}

// As the kernel writes a path.
std::string escaped(std::string_view path) {
  std::string text;
  for (const char c : path) {
    const bool special = c == ' ' || c == '\t' || c == '\n' || c == '\\';
    text += special ? fmt::format("\\{:03o}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return text;
}

void check_mounts(std::string_view text) {
  const auto mounts = host::parse_mounts(text);
  require(mounts.size() <= static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1);
  std::string written;
  for (const auto& mount : mounts) {
    require(mount.point.starts_with('/'));
    written += fmt::format("36 35 {} {} {} rw - ext4 /dev/x rw\n", mount.device,
                           escaped(mount.root), escaped(mount.point));
  }
  require(host::parse_mounts(written) == mounts);
  const auto place = host::place_of(mounts, "/run/tranche/t-1");
  if (!place) return;
  require(std::ranges::any_of(mounts, [&](const host::Mount& mount) {
    return mount.device == place->device && place->root.starts_with(mount.root);
  }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      check_name(text);
      break;
    case 1:
      check_stat(text);
      break;
    case 2:
      check_cgroup(text);
      break;
    default:
      check_mounts(text);
  }
  return 0;
}
