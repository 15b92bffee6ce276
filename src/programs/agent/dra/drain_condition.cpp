#include "agent/dra/drain_condition.h"

#include <fmt/format.h>

#include "base/first_few.h"

namespace tranche::agent {
namespace {

constexpr std::size_t kNamed = 8;  // how many claims a message names

std::vector<std::string> in_the_way(const std::vector<dra::PreparedClaim>& claims,
                                    const Serving& serving) {
  std::vector<std::string> lines;
  for (const auto& claim : claims) {
    const auto& driver = driver_of(claim, serving.driver);
    if (serving.serves == Serves::kYes && driver == serving.driver) continue;
    lines.push_back(fmt::format("{}/{} ({})", claim.ns, claim.name, driver));
  }
  return lines;
}

std::string text_of(const std::vector<std::string>& lines, Serves serves) {
  const auto* const why =
      serves == Serves::kYes
          ? "claims are prepared on this node under a name that the driver had before"
          : "claims are prepared on this node, and this agent takes none (no --dra)";
  return fmt::format(
      "{}; their GPUs are withheld from others, and kubelet is served until their Pods have ended: "
      "{}",
      why, first_few(lines, kNamed));
}

}  // namespace

std::set<std::string> drivers_of(const std::vector<dra::PreparedClaim>& claims,
                                 const std::string& now) {
  std::set<std::string> drivers;
  for (const auto& claim : claims) drivers.insert(driver_of(claim, now));
  return drivers;
}

ConditionReport drain_condition(const std::vector<dra::PreparedClaim>& claims,
                                const std::set<std::string>& unreadable, const Serving& serving) {
  ConditionReport report{.type = cluster::condition::kTrancheClaimsDrained,
                         .good = true,
                         .reason = cluster::reason::kClaimsDrained,
                         .message = "no claim is in the way",
                         .action = "Unprepare",
                         .written_while_good = false};
  if (!unreadable.empty()) {
    report.good = false;
    report.reason = cluster::reason::kClaimsUnreadable;
    report.message = fmt::format(
        "the records of claims with these uids cannot be read, so any GPU may be theirs, and the "
        "device plugin gives out none until their Pods have ended: {}",
        first_few(unreadable, kNamed));
  } else if (const auto lines = in_the_way(claims, serving); !lines.empty()) {
    report.good = false;
    report.reason = cluster::reason::kClaimsDraining;
    report.message = text_of(lines, serving.serves);
  }
  return report;
}

}  // namespace tranche::agent
