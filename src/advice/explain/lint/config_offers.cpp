#include "explain/lint/config_offers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "gpu/mig_tables.h"
#include "offer/mps.h"

namespace tranche::lint {
namespace {

constexpr std::string_view kMig = "nvidia.com/mig-";
constexpr gpu::ComputeCapability kNewest{10, 0};

// "1g.10gb+me" -> "1g.10gb.me", as in resource names.
std::string in_resource(std::string profile) {
  std::ranges::replace(profile, '+', '.');
  return profile;
}

// Whether any model has the profile; it may be a compute instance's (1c.3g.20gb).
bool is_known_profile(std::string_view profile) {
  const auto point = profile.find("c.");
  if (point != std::string_view::npos) profile.remove_prefix(point + 2);
  return std::ranges::any_of(gpu::mig_models(), [&](const gpu::MigModel& model) {
    return std::ranges::any_of(model.geometry.profiles,
                               [&](const auto& one) { return in_resource(one.name) == profile; });
  });
}

class Offers {
 public:
  Offers(const config::Config& config, const TextPlace& place, Report& report)
      : config_(config), place_(place), report_(report) {
    for (const auto* patterns : {&config.gpus, &config.migs}) {
      for (const auto& one : *patterns) names_.insert(one.name.value);
    }
    names_.insert("nvidia.com/gpu");  // what no pattern matches
  }

  void check() {
    const auto* path = config_.sharing.mps ? "sharing.mps" : "sharing.timeSlicing";
    auto advertised = names_;
    if (const auto* shared = config_.sharing.active()) {
      for (std::size_t i = 0; i < shared->resources.size(); ++i) {
        const auto& entry = shared->resources[i];
        const auto where = fmt::format("{}.resources[{}]", path, i);
        check_name(entry.name.value, names_, entry.line, where);
        check_clients(entry, where);
        advertised.insert(entry.advertised().value);
      }
    }
    for (std::size_t i = 0; i < config_.tranche.limits.resources.size(); ++i) {
      const auto& entry = config_.tranche.limits.resources[i];
      check_name(entry.name.value, advertised, entry.line,
                 fmt::format("tranche.limits.resources[{}]", i));
    }
    for (const auto& one : config_.migs) check_pattern(one.pattern);
  }

 private:
  void add(Level level, int line, const std::string& path, std::string what, std::string fix) {
    const bool has_line = line > 0 && !place_.one_line;
    report_.add({.level = level,
                 .line = has_line ? place_.first + line - 1 : place_.first,
                 .path = place_.path.empty() ? path : fmt::format("{}: {}", place_.path, path),
                 .what = std::move(what),
                 .fix = std::move(fix)});
  }

  // Reports a name under which no node offers anything.
  void check_name(const std::string& name, const std::set<std::string>& known, int line,
                  const std::string& where) {
    if (known.contains(name)) return;
    if (name.starts_with(kMig)) {
      if (is_known_profile(std::string_view(name).substr(kMig.size()))) return;
      add(Level::kWarning, line, where,
          fmt::format("{}: no model that is known here has that profile, so the entry does nothing",
                      name),
          "tranche layout list shows models and their profiles");
      return;
    }
    add(Level::kWarning, line, where,
        fmt::format("{}: no node has a resource of that name by this configuration, so the entry "
                    "does nothing",
                    name),
        did_you_mean(name, {known.begin(), known.end()},
                     "write nvidia.com/gpu, or with migStrategy mixed nvidia.com/mig-1g.10gb and "
                     "the like"));
  }

  void check_clients(const config::ReplicatedResource& entry, const std::string& where) {
    if (!config_.sharing.mps) return;
    const int most = offer::most_mps_clients(kNewest);
    if (entry.replicas <= most) return;
    add(Level::kError, entry.line, where + ".replicas",
        fmt::format("sharing.mps: maximum allowed replicas exceeded: {} > {}", entry.replicas,
                    most),
        fmt::format("no GPU serves more MPS clients: lower `replicas` of {}, or use "
                    "sharing.timeSlicing",
                    entry.name.value));
  }

  void check_pattern(const std::string& pattern) {
    const bool any = std::ranges::any_of(gpu::mig_models(), [&](const gpu::MigModel& model) {
      return std::ranges::any_of(model.geometry.profiles, [&](const auto& one) {
        return config::matches_pattern(pattern, one.name);
      });
    });
    if (any || pattern.find("c.") != std::string::npos) return;
    add(Level::kWarning, 0, "resources.mig",
        fmt::format("no model that is known here has a MIG profile like '{}'", shown(pattern)),
        "tranche layout list shows models and their profiles");
  }

  const config::Config& config_;
  const TextPlace& place_;
  Report& report_;
  std::set<std::string> names_;
};

}  // namespace

void check_offers(const config::Config& config, const TextPlace& place, Report& report) {
  Offers(config, place, report).check();
}

}  // namespace tranche::lint
