#include "agent/succession.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <ranges>
#include <utility>

namespace tranche::agent {
namespace {

// Time for the next agent to read the hardware and to register. Kubelet ends a Pod's containers
// after 30 s.
constexpr std::chrono::seconds kHandoverTime{20};
constexpr std::chrono::milliseconds kLastCalls{1000};

bool has_one(const std::unique_ptr<process::Handover>& handover) {
  return handover->has_successor();
}

}  // namespace

Succession::Succession(NodeTurn* turn, std::string release, const Log& log)
    : turn_(turn), release_(std::move(release)), log_(log) {
  if (turn_ == nullptr || !turn_->inherited) return;
  inherited_.emplace(Inherited{.connections = *std::exchange(turn_->inherited, {}),
                               .served = [turn] { turn->predecessor.tell_serving(); }});
}

Result<void> Succession::follow_predecessor(process::Loop& loop,
                                            std::function<Result<void>()> ended) {
  if (!inherited_) return {};
  auto& predecessor = turn_->predecessor;
  return loop.on_readable(predecessor.fd(),
                          [this, &loop, fd = predecessor.fd(), ended = std::move(ended)] {
                            loop.forget(fd);
                            turn_->predecessor.close();
                            const auto taken = ended();
                            if (taken) return log_.info("the agent before this one has ended");
                            log_.error(taken.error());
                          });
}

void Succession::listen(process::Loop& loop) {
  if (turn_ == nullptr || turn_->lock == nullptr) return;
  for (const auto& file : turn_->lock->files) {
    auto handover = process::Handover::listen(file.path.parent_path() / kHandoverSocket, release_);
    const auto added =
        handover ? loop.on_readable((*handover)->fd(), [one = handover->get()] { one->accept(); })
                 : std::unexpected(handover.error());
    if (!added) {
      log_.warn(Error(added.error())
                    .with_context("the next agent cannot take over while this one serves"));
      continue;
    }
    handovers_.push_back(*std::move(handover));
  }
}

bool Succession::has_successor() {
  for (const auto& one : handovers_) one->accept();
  return std::ranges::any_of(handovers_, has_one);
}

// Kubelet's connections stay open: the next agent holds them too, and kubelet drops what serves a
// resource when one of them ends.
bool Succession::hand_over(std::vector<process::NamedDescriptor> held) {
  const auto handover = std::ranges::find_if(handovers_, has_one);
  if (handover == handovers_.end()) return false;
  for (const auto& file : turn_->lock->files | std::views::reverse) {
    held.push_back(
        {std::string(kHandedLock), Descriptor(::fcntl(file.lock->fd(), F_DUPFD_CLOEXEC, 0))});
  }
  const auto successor = (*handover)->give(held);
  if (!successor || !process::wait_until_serving(*successor, kHandoverTime)) return false;
  // Kubelet may have chosen this agent for a call before it accepted the other one's registration.
  pollfd other{.fd = successor->get(), .events = POLLIN, .revents = 0};
  ::poll(&other, 1, static_cast<int>(kLastCalls.count()));
  return true;
}

}  // namespace tranche::agent
