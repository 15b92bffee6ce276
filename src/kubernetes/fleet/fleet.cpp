#include "fleet/fleet.h"

#include <array>
#include <utility>

#include "usage/words.h"

namespace tranche::fleet {
namespace {

constexpr std::array kReporting{
    std::pair{Reporting::kFresh, std::string_view("fresh")},
    std::pair{Reporting::kStale, std::string_view("stale")},
    std::pair{Reporting::kSilent, std::string_view("silent")},
};
constexpr std::array kCauses{
    std::pair{Cause::kNotEnough, std::string_view("not-enough")},
    std::pair{Cause::kNoSuchResource, std::string_view("no-such-resource")},
    std::pair{Cause::kTaint, std::string_view("taint")},
    std::pair{Cause::kAffinity, std::string_view("affinity")},
    std::pair{Cause::kOtherResource, std::string_view("other-resource")},
    std::pair{Cause::kQuota, std::string_view("quota")},
    std::pair{Cause::kClaim, std::string_view("claim")},
    std::pair{Cause::kGate, std::string_view("gate")},
    std::pair{Cause::kTopology, std::string_view("topology")},
    std::pair{Cause::kAdmission, std::string_view("admission")},
    std::pair{Cause::kStarting, std::string_view("starting")},
    std::pair{Cause::kUnknown, std::string_view("unknown")},
};

}  // namespace

std::string_view to_string(Reporting reporting) { return usage::word_in(kReporting, reporting); }
std::string_view to_string(Cause cause) { return usage::word_in(kCauses, cause); }

bool parse_word(std::string_view word, std::optional<Reporting>& reporting) {
  return usage::find_word(kReporting, word, reporting);
}

bool parse_word(std::string_view word, std::optional<Cause>& cause) {
  return usage::find_word(kCauses, word, cause);
}

}  // namespace tranche::fleet
