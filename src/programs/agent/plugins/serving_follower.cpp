#include "agent/plugins/serving_follower.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cluster/formats/reasons.h"

namespace tranche::agent {
namespace {

constexpr const char* kServed = "kubelet offers what this agent offers";

// Highest number of ids of a device in another plugin's list.
int ids_per_device(const std::set<std::string>& ids) {
  std::map<std::string_view, int> counts;
  int most = 1;
  for (const auto& id : ids) {
    if (offer::is_replica_id(id)) most = std::max(most, ++counts[offer::device_uuid_of(id)]);
  }
  return most;
}

}  // namespace

ServingFollower::ServingFollower(Parts parts)
    : parts_(std::move(parts)), notices_([this](const NodeNotice& notice) {
        // A repeated registration is logged with its reason.
        if (notice.reason != cluster::reason::kRegisteredAgain) parts_.log.warn(notice.note);
        if (parts_.tell) parts_.tell(notice);
      }) {}

Result<void> ServingFollower::follow(const Round& round) {
  auto ids = ids_of(*round.offer);
  offer_ = round.offer;
  if (ids == ours_) return {};
  ours_ = std::move(ids);
  std::erase_if(standings_, [&](const auto& entry) { return !ours_.contains(entry.first); });
  for (auto& [resource, standing] : standings_) standing.since.reset();
  stale_ = true;
  const auto soon = parts_.clock.now() + kSoon;
  look_at_ = std::min(look_at_.value_or(soon), soon);
  return {};
}

void ServingFollower::tick(TimePoint now) {
  for (const auto& event : parts_.plugins.take_events()) on_event(event, now);
  notices_.tick(now);
  if (asking_ || !look_at_ || now < *look_at_) return;
  asking_ = true;
  stale_ = false;
  parts_.ask();
}

std::optional<Follower::TimePoint> ServingFollower::next_tick() const {
  const auto notices = notices_.next();
  if (asking_ || !look_at_) return notices;
  return notices ? std::min(*notices, *look_at_) : look_at_;
}

std::string ServingFollower::trouble() const {
  const auto found = std::ranges::find(problems_, false, &Problem::serves);
  return found == problems_.end() ? "" : found->text;
}

void ServingFollower::on_event(const PluginEvent& event, TimePoint now) {
  switch (event.kind) {
    case PluginEvent::Kind::kRegistered:
      standings_[event.resource].registered = now;
      break;
    case PluginEvent::Kind::kRefused:
      on_refusal(event, now);
      break;
    case PluginEvent::Kind::kSocketLost:
      on_socket_lost(event.resource, now);
      break;
  }
  look_at_ = now;
}

void ServingFollower::on_refusal(const PluginEvent& event, TimePoint now) {
  if (const auto found = standings_.find(event.resource); found != standings_.end()) {
    found->second.refused = true;
  }
  notices_.tell("refused " + event.resource,
                {.warning = true,
                 .reason = cluster::reason::kAllocateRefused,
                 .action = "Allocate",
                 .note = fmt::format("kubelet asked for what this agent does not offer, and a Pod "
                                     "failed: {}; see the condition {}",
                                     event.detail, kServingCondition)},
                now);
}

void ServingFollower::on_socket_lost(const std::string& resource, TimePoint now) {
  notices_.tell(
      "socket " + resource,
      {.warning = true,
       .reason = cluster::reason::kSocketTaken,
       .action = "Serve",
       .note = fmt::format("another device plugin put its socket in the place of that of {}; {}",
                           resource,
                           parts_.take_over ? "this agent takes it back (--take-over): remove the "
                                              "other plugin from this node"
                                            : "it is left to that plugin while it answers: remove "
                                              "it from this node, or set --take-over")},
      now);
}

void ServingFollower::answered(const Result<cluster::AllocatableDevices>& answer) {
  const auto now = parts_.clock.now();
  asking_ = false;
  if (stale_) {
    look_at_ = now + kSoon;
    return;
  }
  if (!answer) {
    on_silence(answer.error());
    look_at_ = now + kEach;
    return;
  }
  silences_ = 0;
  judge(*answer, now);
  say();
  look_at_ = now + (doubt_ || !problems_.empty() ? kSoon : kEach);
}

// Earlier knowledge may be outdated. The agent stays ready: kubelet may be too old to answer, or
// its socket is not mounted.
void ServingFollower::on_silence(const Error& error) {
  if (++silences_ < kSilences) return;
  problems_.clear();
  const auto text = fmt::format("{}; whether {} is not known", error.message(), kServed);
  if (said_.is_news("serving", text)) parts_.log.warn(text);
  if (!parts_.report) return;
  parts_.report({.type = kServingCondition,
                 .reason = cluster::reason::kKubeletSilent,
                 .message = text,
                 .action = "Serve",
                 .unknown = true});
}

void ServingFollower::judge(const cluster::AllocatableDevices& kubelets, TimePoint now) {
  problems_.clear();
  const auto others = std::exchange(others_, {});
  doubt_ = false;
  for (const auto& [resource, found] : compare(ours_, kubelets)) {
    if (auto problem = judge(resource, found, now)) problems_.push_back(*std::move(problem));
  }
  judge_rivals(kubelets);
  if (others_ != others) parts_.look_again();
}

std::optional<ServingFollower::Problem> ServingFollower::judge(const std::string& resource,
                                                               const ServedResource& found,
                                                               TimePoint now) {
  auto& standing = standings_[resource];
  if (!standing.since || standing.served != found.served) standing.since = now;
  standing.served = found.served;
  const bool certain = is_certain(standing, now);
  if (found.served == Served::kOther && certain) others_[resource] = ids_per_device(found.ids);
  if (const auto why = parts_.plugins.socket_trouble(resource); !why.empty()) {
    standing.bad = true;
    return Problem{.reason = cluster::reason::kSocketHeld,
                   .text = fmt::format("{} cannot be served: {}", resource, why)};
  }
  if (found.served == Served::kOurs) {
    settle(standing, now);
    return std::nullopt;
  }
  if (!parts_.plugins.is_registered(resource)) return await_registration(resource, standing, now);
  standing.unregistered.reset();
  if (!certain) {
    doubt_ = true;
    return std::nullopt;
  }
  standing.bad = true;
  auto problem = describe(resource, found, standing);
  if (mend(resource, standing, now)) tell_mended(resource, problem, now);
  return problem;
}

bool ServingFollower::is_certain(const Standing& standing, TimePoint now) {
  if (standing.refused) return true;
  return now - *standing.since >= kSoon && now - standing.registered >= kListed;
}

// The registrar retries, and logs why.
std::optional<ServingFollower::Problem> ServingFollower::await_registration(
    const std::string& resource, Standing& standing, TimePoint now) {
  if (!standing.unregistered) standing.unregistered = now;
  if (now - *standing.unregistered < kPatience) {
    doubt_ = true;
    return std::nullopt;
  }
  standing.bad = true;
  return Problem{.reason = cluster::reason::kNotRegistered,
                 .text = fmt::format("kubelet has not taken the registration of {} for {} s, see "
                                     "the agent's log",
                                     resource, kPatience.count())};
}

void ServingFollower::settle(Standing& standing, TimePoint now) const {
  if (std::exchange(standing.bad, false)) standing.good_since = now;
  standing.refused = false;
  standing.unregistered.reset();
  if (now - standing.good_since >= kCalm) standing.again.reset();
}

// Without --take-over another plugin keeps what it serves. But if kubelet asks us in spite of its
// list, the resource is ours.
bool ServingFollower::mend(const std::string& resource, Standing& standing, TimePoint now) const {
  const bool is_ours_to_mend =
      parts_.take_over || standing.refused || standing.served == Served::kNone;
  if (!is_ours_to_mend || now < standing.again_at) return false;
  standing.again_at = now + standing.again.next();
  parts_.plugins.register_again(resource);
  return true;
}

// What is mended at once may be over before the condition is written.
void ServingFollower::tell_mended(const std::string& resource, const Problem& problem,
                                  TimePoint now) {
  notices_.tell("again " + resource,
                {.warning = true,
                 .reason = cluster::reason::kRegisteredAgain,
                 .action = "Register",
                 .note = problem.text},
                now);
}

ServingFollower::Problem ServingFollower::describe(const std::string& resource,
                                                   const ServedResource& found,
                                                   const Standing& standing) const {
  if (found.served == Served::kNone) {
    return {.reason = cluster::reason::kRegistrationLost,
            .text = fmt::format("kubelet offers no {} of the {} that this agent offers: the "
                                "registration is lost; registering again",
                                resource, found.ours)};
  }
  const bool takes = parts_.take_over || standing.refused;
  const auto* const then =
      takes ? "registering again with back-off; remove the other plugin from this node"
            : "remove the other plugin from this node, or set --take-over";
  const bool other = found.served == Served::kOther;
  return {.reason = other ? cluster::reason::kAnotherPlugin : cluster::reason::kListDiffers,
          .text = fmt::format(
              "another device plugin {} {}: kubelet offers {} of it ({}{}), not the "
              "{} of this agent; {}",
              other ? "serves" : "seems to serve", resource, found.ids.size(), *found.ids.begin(),
              found.ids.size() > 1 ? ", ..." : "", found.ours, then)};
}

void ServingFollower::judge_rivals(const cluster::AllocatableDevices& kubelets) {
  if (offer_ == nullptr) return;
  auto found = rivals(*offer_, kubelets);
  for (const auto& resource : found) {
    if (std::ranges::find(rivals_, resource) == rivals_.end()) {
      doubt_ = true;
      continue;
    }
    problems_.push_back(
        {.reason = cluster::reason::kDeviceOfferedTwice,
         .text = fmt::format("another device plugin offers {}, with GPUs that this agent offers "
                             "too: one GPU is given to Pods of both; remove that plugin from this "
                             "node",
                             resource),
         .serves = true});
  }
  rivals_ = std::move(found);
}

void ServingFollower::say() {
  if (doubt_ && problems_.empty()) return;
  std::vector<std::string> texts;
  for (const auto& problem : problems_) texts.push_back(problem.text);
  const auto text =
      problems_.empty() ? std::string(kServed) : fmt::format("{}", fmt::join(texts, "; "));
  if (said_.is_news("serving", text)) {
    parts_.log.write(problems_.empty() ? LogLevel::kInfo : LogLevel::kWarn, text);
  }
  if (!parts_.report) return;
  parts_.report({.type = kServingCondition,
                 .good = problems_.empty(),
                 .reason = problems_.empty() ? cluster::reason::kServing : problems_.front().reason,
                 .message = text,
                 .action = "Serve"});
}

}  // namespace tranche::agent
