#include "host/living_mounts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/descriptor.h"

namespace tranche::host {
namespace {

bool is_number(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

// A process that ends while it is looked at: it is gone, it is going (ESRCH), or it is a zombie,
// whose mounts are gone (EINVAL).
bool has_ended(int error) { return error == ENOENT || error == ESRCH || error == EINVAL; }

// Takes the whole lines out of `text`.
void take_lines(std::string& text, const std::function<void(const Mount&)>& take) {
  const auto end = text.rfind('\n');
  if (end == std::string::npos) return;
  for (const auto& mount : parse_mounts(std::string_view(text).substr(0, end + 1))) take(mount);
  text.erase(0, end + 1);
}

Result<void> each_mount_of(const std::string& file, const std::function<void(const Mount&)>& take) {
  const auto failed = [&](int error) -> Result<void> {
    if (has_ended(error)) return {};
    return std::unexpected(errno_error(error, "read " + file));
  };
  const Descriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return failed(errno);
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(errno);
    if (n == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    take_lines(text, take);
  }
  for (const auto& mount : parse_mounts(text)) take(mount);
  return {};
}

}  // namespace

Result<void> each_living_mount(const FsRoot& fs, const std::function<void(const Mount&)>& take) {
  ASSIGN_OR_RETURN(const auto names, fs.list("/proc"));
  if (std::ranges::none_of(names, is_number)) {
    return fail(Code::kUnavailable,
                fmt::format("{} shows no process", fs.resolve("/proc").string()));
  }
  for (const auto& name : names) {
    if (!is_number(name)) continue;
    TRY(each_mount_of(fs.resolve(fmt::format("/proc/{}/mountinfo", name)).string(), take));
  }
  return {};
}

}  // namespace tranche::host
