#include "host/mounts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/descriptor.h"
#include "base/lines.h"

namespace tranche::host {
namespace {

std::vector<std::string_view> table_words(std::string_view line, std::size_t at_most) {
  std::vector<std::string_view> result;
  while (!line.empty() && result.size() < at_most) {
    const auto end = std::min(line.find(' '), line.size());
    result.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return result;
}

bool is_octal(char c) { return c >= '0' && c <= '7'; }

// The kernel writes space, tab, line end and backslash as \ooo.
std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
        is_octal(text[i + 3])) {
      result += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                  (text[i + 3] - '0'));
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
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

}  // namespace

std::vector<Mount> parse_mounts(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  while (!mountinfo.empty()) {
    // The options follow the mount point: a line without them is torn.
    const auto fields = table_words(take_line(mountinfo), 6);
    if (fields.size() < 6 || !fields[4].starts_with('/')) continue;
    mounts.push_back({std::string(fields[2]), unescaped(fields[3]), unescaped(fields[4])});
  }
  return mounts;
}

Result<void> each_mount(const FsRoot& fs, std::string_view process,
                        const std::function<void(const Mount&)>& take) {
  const auto file = fs.resolve(fmt::format("/proc/{}/mountinfo", process)).string();
  const auto failed = [&](int error) -> Result<void> {
    if (has_ended(error)) return fail(Code::kNotFound, fmt::format("{} has ended", process));
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

}  // namespace tranche::host
