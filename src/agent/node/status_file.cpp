#include "agent/node/status_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

namespace tranche::agent {
namespace {

constexpr std::chrono::seconds kBeat{5};
constexpr std::string_view kReady = "ready ";
constexpr std::string_view kWaiting = "waiting ";

std::filesystem::path file_of(const std::filesystem::path& state_dir, const std::string& host) {
  return state_dir / fmt::format("agent.{}.status", host);
}

// Replaces characters that would end the line.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

}  // namespace

StatusFile::StatusFile(const std::filesystem::path& state_dir, const std::string& host,
                       const Clock& clock)
    : file_(file_of(state_dir, host)), clock_(clock) {}

StatusFile::~StatusFile() { (void)fs_.remove(file_); }

void StatusFile::beat(const Status& status) {
  const auto now = clock_.now();
  if (written_ && status == last_ && now - *written_ < kBeat) return;
  const auto text = fmt::format("{}{}\n", status.ready ? kReady : kWaiting, one_line(status.text));
  (void)fs_.write_atomic(file_, text, 0644, false);
  last_ = status;
  written_ = now;
}

Result<Status> read_status(const std::filesystem::path& state_dir, const std::string& host,
                           std::chrono::seconds longest, const Clock& clock) {
  const auto file = file_of(state_dir, host);
  const FsRoot fs;
  const auto text = fs.read(file, 4096);
  struct stat status{};
  if (!text || ::stat(file.c_str(), &status) != 0) {
    return fail(
        Code::kUnavailable,
        fmt::format("no agent runs on {} with the state folder {}", host, state_dir.string()),
        "see its log; --state-dir must be the agent's and writable");
  }
  const auto beat = std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec);
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(clock.wall_now() - beat);
  if (age > longest) {
    return fail(Code::kUnavailable,
                fmt::format("the agent's last sign of life is {} s old", age.count()),
                "see its log");
  }
  const std::string_view line = std::string_view(*text).substr(0, text->find('\n'));
  const bool ready = line.starts_with(kReady);
  const auto rest = line.substr(std::min(line.size(), (ready ? kReady : kWaiting).size()));
  return Status{.ready = ready, .text = std::string(rest)};
}

}  // namespace tranche::agent
