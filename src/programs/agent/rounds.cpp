#include "agent/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/formats/reasons.h"
#include "offer/make_offer.h"

namespace tranche::agent {
namespace {

// Whether the follower keeps what it had after an earlier follower's error.
bool keeps(const Follower& follower) {
  return follower.phase() == Follower::Phase::kLog || follower.phase() == Follower::Phase::kHandOut;
}

}  // namespace

void Rounds::run(State& state) {
  const auto done = follow(state, make_offer(state));
  refused_ = done ? std::string() : done.error().message();
  if (done) return said_.forget("offer");
  complain(done.error());
}

offer::Offer Rounds::make_offer(State& state) {
  auto offer = offer::make_offer(*state.machine, state.config, state.health);
  look_due_.reset();
  const auto now = clock_.now();
  for (const auto& input : followers_.inputs()) {
    input->look(offer, state);
    if (const auto interval = input->interval(state)) {
      look_due_ = std::min(look_due_.value_or(now + *interval), now + *interval);
    }
  }
  for (const Stage stage : followers_.stages()) offer = stage(state, std::move(offer));
  return offer;
}

Result<void> Rounds::follow(const State& state, offer::Offer offer) {
  if (followed_ && followed_->state == state && *followed_->offer == offer && !anew_) return {};
  const Round round{state, std::make_shared<const offer::Offer>(std::move(offer))};
  std::optional<Error> failed;
  for (const auto& follower : followers_.all()) {
    if (failed && keeps(*follower)) continue;
    auto done = follower->follow(round);
    if (!done && !failed) failed = std::move(done).error();
  }
  if (failed) return std::unexpected(*std::move(failed));
  followed_.emplace(state, round.offer);
  anew_ = false;
  return {};
}

// In the log, and as an Event for `kubectl describe node`, unless it repeats the last one.
void Rounds::complain(const Error& error) {
  if (!said_.is_news("offer", error.what)) return;
  log_.error(fmt::format("{}; {}", error.message(),
                         followed_ ? "what was advertised before stays as it is"
                                   : "nothing is advertised until then"));
  if (!tell_) return;
  tell_({.warning = true,
         .reason = cluster::reason::kResourceWithheld,
         .action = "Advertise",
         .note = fmt::format("{}: {}",
                             followed_ ? "what was advertised before stays as it is"
                                       : "not advertising any resource",
                             error.message())});
}

std::string Rounds::trouble(const State& state) const {
  if (!followed_) return refused_.empty() ? "the GPU driver does not answer" : refused_;
  for (const auto& input : followers_.inputs()) {
    if (auto why = input->trouble(state); !why.empty()) return why;
  }
  for (const auto& follower : followers_.all()) {
    if (auto why = follower->trouble(); !why.empty()) return why;
  }
  return followed_->offer->resources.empty() ? in_part() : std::string();
}

std::string Rounds::in_part() const {
  if (!refused_.empty()) return refused_;
  if (!followed_) return {};
  std::string text;
  for (const auto& withheld : followed_->offer->withheld) {
    text +=
        fmt::format("{}not advertising {}", text.empty() ? "" : "; ", offer::describe(withheld));
  }
  return text;
}

std::string Rounds::in_part_remark() const {
  const auto part = in_part();
  if (part.empty()) return {};
  return (refused_.empty() ? "; " : "; what was advertised before stays: ") + part;
}

std::string Rounds::remarks() const {
  std::string text;
  for (const auto& follower : followers_.all()) {
    if (const auto remark = follower->remark(); !remark.empty()) text += "; " + remark;
  }
  return text;
}

}  // namespace tranche::agent
