#include "arbiter/status_file.h"

#include "fmt/format.h"

namespace tranche::arbiter {

using limit::ArbiterStatus;

StatusFile::StatusFile(const std::filesystem::path& state_dir, const Clock& clock, const Log& log)
    : file_(state_dir / "status.json"), clock_(clock), log_(log) {}

ArbiterStatus StatusFile::before() const {
  const auto text = fs_.read(file_);
  if (!text) {
    if (text.error().code != Code::kNotFound) log_.warn(text.error());
    return {};
  }
  auto status = limit::decode_status(*text);
  if (status) return *std::move(status);
  log_.warn(fmt::format("{}: {}; it is written anew", file_.string(), status.error().message()));
  return {};
}

void StatusFile::put(ArbiterStatus status) {
  if (written_ == status) return;
  const auto done = fs_.write_atomic(file_, encode(status, clock_.wall_now()) + "\n");
  if (!done) {
    if (!std::exchange(told_, true)) log_.warn(done.error());
    return;
  }
  told_ = false;
  written_ = std::move(status);
}

}  // namespace tranche::arbiter
