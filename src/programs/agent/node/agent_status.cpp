#include "agent/node/agent_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tranche::agent {
namespace {

constexpr std::string_view kWho = "agent";
constexpr std::string_view kReady = "ready ";
constexpr std::string_view kWaiting = "waiting ";

std::string name_of(const std::filesystem::path& state_dir) {
  return std::filesystem::absolute(state_dir).lexically_normal().string();
}

}  // namespace

AgentStatus::AgentStatus(const std::filesystem::path& state_dir, const Clock& clock, const Log& log)
    : socket_(kWho, name_of(state_dir), clock), log_(log) {}

void AgentStatus::beat(const Status& status) {
  const auto open = socket_.beat(
      fmt::format("{}{} {}", status.ready ? kReady : kWaiting, status.turns, status.text));
  if (!said_.is_news("socket", open ? "" : open.error().what)) return;
  log_.warn(Error(open.error()).with_context("probes cannot ask this agent how it is"));
}

Result<Status> read_status(const std::filesystem::path& state_dir, std::chrono::seconds longest) {
  const auto answer = process::StatusSocket::ask(kWho, name_of(state_dir));
  if (!answer) {
    return fail(Code::kUnavailable,
                fmt::format("no agent runs here with the state folder {}: {}", state_dir.string(),
                            answer.error().what),
                "see its log; --state-dir must be the agent's");
  }
  if (answer->age > longest) {
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(answer->age);
    return fail(Code::kUnavailable,
                fmt::format("the agent's last sign of life is {} s old", age.count()),
                "see its log");
  }
  const std::string_view line = answer->text;
  const bool ready = line.starts_with(kReady);
  const auto rest = line.substr(std::min(line.size(), (ready ? kReady : kWaiting).size()));
  const auto number = rest.substr(0, rest.find(' '));
  Status status{.ready = ready, .text = std::string(rest.substr(number.size()))};
  if (status.text.starts_with(' ')) status.text.erase(0, 1);
  std::from_chars(number.data(), number.data() + number.size(), status.turns);
  return status;
}

}  // namespace tranche::agent
