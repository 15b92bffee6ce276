#include "arbiter/alive.h"

#include <sys/stat.h>

#include "base/fs.h"
#include "fmt/format.h"

namespace tranche::arbiter {
namespace {

std::filesystem::path file_in(const std::filesystem::path& state_dir) {
  return state_dir / "alive";
}

}  // namespace

Alive::Alive(const std::filesystem::path& state_dir, const Clock& clock)
    : file_(file_in(state_dir)), clock_(clock) {}

Alive::~Alive() { (void)FsRoot().remove(file_); }

void Alive::beat() {
  const auto now = clock_.now();
  if (written_ && now - *written_ < kBeat) return;
  const auto since_epoch =
      std::chrono::duration_cast<std::chrono::seconds>(clock_.wall_now().time_since_epoch());
  (void)FsRoot().write_atomic(file_, fmt::format("{}\n", since_epoch.count()), 0644, false);
  written_ = now;
}

Result<void> Alive::check(const std::filesystem::path& state_dir, const Clock& clock) {
  struct stat status{};
  if (::stat(file_in(state_dir).c_str(), &status) != 0) {
    return fail(Code::kUnavailable,
                fmt::format("no arbiter runs with the state folder {}", state_dir.string()),
                "see its log; --state-dir must be the arbiter's");
  }
  const auto beat = std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec);
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(clock.wall_now() - beat);
  if (age > kLongest) {
    return fail(Code::kUnavailable,
                fmt::format("the arbiter's last sign of life is {} s old", age.count()),
                "see its log");
  }
  return {};
}

}  // namespace tranche::arbiter
