#include "admission/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "admission/claim_names.h"
#include "admission/names.h"
#include "admission/replica.h"
#include "admission/template_name.h"
#include "base/printable.h"

namespace tranche::admission {
namespace {

// More shares in one Pod are a mistake. Also limits the work.
constexpr std::size_t kMostShares = 128;

using State = ContainerPlan::State;

Result<bool> is_together(const PodParts& pod) {
  const auto found = pod.annotation.find(std::string(kTogetherAnnotation));
  if (found == pod.annotation.end() || found->second == "false") return false;
  if (found->second == "true") return true;
  return fail(
      Code::kInvalidArgument,
      fmt::format("annotation {} is '{}'", kTogetherAnnotation, printable(found->second, 63)),
      "write \"true\" or \"false\"");
}

class Planner {
 public:
  Planner(const PodParts& pod, const Manifests& manifests, const Fleet& fleet,
          const ClaimOptions& options)
      : pod_(pod), fleet_(fleet), options_(options), past_(pod, manifests), names_(pod, past_) {
    plan_.containers.resize(pod.containers.size());
  }

  Result<Plan> make() {
    TRY(read_shares());
    if (!shares_.empty()) TRY(place());
    if (!shares_.empty() && fleet_.is_awaited) plan_.warnings.push_back(waits_for_a_node());
    for (std::size_t i = 0; i < pod_.containers.size(); ++i) settle(i);
    find_stale();
    if (past_.is_unreadable()) {
      plan_.warnings.push_back(fmt::format(
          "annotation {} is none that Tranche wrote, and is removed", kRecordAnnotation));
    }
    return std::move(plan_);
  }

 private:
  Result<void> read_shares() {
    std::vector<Ask> asks;
    std::vector<std::string> settled;
    std::set<std::string> names;
    bool is_unique = true;
    for (const auto& container : pod_.containers) {
      const auto* record = past_.record_of(container.name);
      const bool has_replica = record != nullptr && record->resource == kGpuResource;
      ASSIGN_OR_RETURN(auto ask, read_ask(container.name, container.resources, has_replica));
      is_unique = names.insert(container.name).second && is_unique && !container.name.empty();
      if (past_.is_settled(container, ask)) {
        settled.push_back(container.name);
      } else {
        asks.push_back(std::move(ask));
      }
    }
    settled_.insert(settled.begin(), settled.end());
    ASSIGN_OR_RETURN(shares_, shares_of(asks, settled, pod_.annotation));
    if (shares_.empty() || (is_unique && shares_.size() <= kMostShares)) return {};
    if (is_unique) {
      return fail(Code::kInvalidArgument,
                  fmt::format("{} containers ask for a part of a GPU", shares_.size()),
                  fmt::format("{} are allowed in one Pod", kMostShares));
    }
    return fail(Code::kInvalidArgument, "two containers have the same name, or one has none",
                "give each container a name of its own");
  }

  Result<void> place() {
    ASSIGN_OR_RETURN(const bool together, is_together(pod_));
    if (pod_.is_fixed && stays_as_it_is()) return {};
    for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
      if (asks(i)) TRY(find_replicas(i));
    }
    if (fleet_.dra_models.empty()) return place_replicas(together);
    TRY(may_claim());
    for (const auto& container : pod_.containers) {
      if (settled_.contains(container.name)) names_.take_those_of(container);
    }
    const auto members = together ? members_together() : std::vector<std::size_t>();
    if (members.size() > 1) return place_together(members);
    for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
      if (asks(i)) TRY(place_alone(i));
    }
    return {};
  }

  std::string waits_for_a_node() const {
    std::vector<std::string> products;
    for (const auto& model : fleet_.dra_models) products.push_back(printable(model.product, 64));
    return fmt::format("no node in mode dra is there now: Pods wait for one with {}",
                       fmt::join(products, " or "));
  }

  bool asks(std::size_t i) const { return shares_.contains(pod_.containers[i].name); }

  // An existing Pod or Job keeps what it has, whatever the fleet is now: its manifest can be
  // applied again. False, with nothing done: it does not have what it requests.
  bool stays_as_it_is() {
    for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
      if (asks(i) && !has_what_it_asks(pod_.containers[i])) return false;
    }
    for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
      if (asks(i)) put_back(i);
    }
    return true;
  }

  bool has_what_it_asks(const Container& container) const {
    const auto* record = past_.record_of(container.name);
    if (record == nullptr) return false;
    const auto& share = shares_.at(container.name);
    if (!record->claim.empty()) return past_.settled_share(container) == share;
    return !share.memory && record->gpu == past_.original_of(container) &&
           past_.is_our_resource(container, record->resource);
  }

  void put_back(std::size_t i) {
    const auto& container = pod_.containers[i];
    const auto& record = *past_.record_of(container.name);
    auto& plan = plan_.containers[i];
    plan.claim = record.claim;
    plan.resource = record.resource;
    for (const auto& claim : pod_.claims) {
      if (claim.name == record.claim) plan.template_name = claim.template_name;
    }
    for (const auto& claim : container.claims) {
      if (claim.name == record.claim) plan.request = claim.request;
    }
    keep(container, record);
  }

  Result<void> place_replicas(bool together) {
    if (together && shares_.size() > 1) {
      return fail(Code::kFailedPrecondition,
                  fmt::format("annotation {} needs shares that are claimed, and {}",
                              kTogetherAnnotation, why_no_shares(fleet_)),
                  into_shares(fleet_) + "; or remove the annotation");
    }
    for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
      if (!asks(i)) continue;
      const auto& name = pod_.containers[i].name;
      ASSIGN_OR_RETURN(auto choice, choose_replica(name, shares_[name], fleet_));
      plan_.containers[i].resource = std::move(choice.resource);
      std::ranges::move(choice.warnings, std::back_inserter(plan_.warnings));
    }
    return {};
  }

  // A replica in addition to the fraction is from an earlier rewrite, or the user's. A user's
  // replica would be more than a share, or lost.
  Result<void> find_replicas(std::size_t i) {
    const auto& container = pod_.containers[i];
    for (const auto& [resource, permille, enforced] : fleet_.replicas) {
      const bool is_there = container.resources.at({"limits", resource}) ||
                            container.resources.at({"requests", resource});
      if (resource == kGpuResource || !is_there) continue;
      if (!past_.is_our_resource(container, resource) &&
          !past_.is_beyond_manifest(container, resource)) {
        return fail(Code::kInvalidArgument,
                    fmt::format("container \"{}\" asks for a part of {}, and for {} too",
                                printable(container.name, 63), kGpuResource, resource),
                    "ask for one of them");
      }
      plan_.containers[i].old_resources.insert(resource);
    }
    return {};
  }

  // Only the scheduler allocates claims: a Pod that names its node would wait for ever.
  Result<void> may_claim() const {
    if (!pod_.is_bound) return {};
    for (const auto& container : pod_.containers) {
      const auto share = shares_.find(container.name);
      if (share == shares_.end() || past_.settled_share(container)) continue;
      return fail(Code::kFailedPrecondition,
                  fmt::format("container \"{}\" asks for {}, which the scheduler allocates, and "
                              "the Pod names its node itself",
                              printable(container.name, 63), describe(share->second)),
                  "remove spec.nodeName; write nodeSelector: {kubernetes.io/hostname: NODE}");
    }
    return {};
  }

  // Requesting containers, and those settled by a claim that share the GPU from now on.
  std::vector<std::size_t> members_together() {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
      const auto& container = pod_.containers[i];
      if (settled_.contains(container.name)) {
        const auto share = past_.settled_share(container);
        if (!share) continue;
        shares_[container.name] = *share;
      }
      if (asks(i)) members.push_back(i);
    }
    return members;
  }

  Result<void> place_together(const std::vector<std::size_t>& members) {
    std::vector<Share> shares;
    std::vector<std::string> owners;
    for (const auto i : members) {
      owners.push_back(pod_.containers[i].name);
      shares.push_back(shares_[owners.back()]);
      settled_.erase(owners.back());
    }
    names_.give_back(owners);
    ASSIGN_OR_RETURN(auto made, claim_template(shares, fleet_, options_));
    const auto claim = names_.name_for(owners);
    for (std::size_t n = 0; n < members.size(); ++n) {
      auto& plan = plan_.containers[members[n]];
      plan.claim = claim;
      plan.request = request_name(n, members.size());
      plan.template_name = made.name;
    }
    add_template(std::move(made));
    return {};
  }

  Result<void> place_alone(std::size_t i) {
    const auto& name = pod_.containers[i].name;
    auto made = claim_template({shares_[name]}, fleet_, options_);
    if (!made) {
      return std::unexpected(std::move(made).error().with_context(
          fmt::format("container \"{}\"", printable(name, 63))));
    }
    auto& plan = plan_.containers[i];
    plan.claim = names_.name_for({name});
    plan.template_name = made->name;
    add_template(*std::move(made));
    return {};
  }

  void add_template(ClaimTemplate made) {
    if (made_.insert(made.name).second) plan_.templates.push_back(std::move(made));
  }

  void settle(std::size_t i) {
    const auto& container = pod_.containers[i];
    auto& plan = plan_.containers[i];
    const auto* record = past_.record_of(container.name);
    if (settled_.contains(container.name)) {
      plan.state = State::kSettled;
      plan_.records[container.name] = *record;
      keep(container, *record);
      return;
    }
    for (const auto& claim : container.claims) {
      if (past_.is_our_claim(claim.name) && claim.name != plan.claim) {
        plan.old_claims.insert(claim.name);
      }
    }
    if (record != nullptr && past_.is_our_resource(container, record->resource)) {
      plan.old_resources.insert(record->resource);
    }
    if (plan.claim.empty() && plan.resource.empty()) return;
    plan.state = State::kAsks;
    plan_.records[container.name] = {
        .gpu = past_.original_of(container), .claim = plan.claim, .resource = plan.resource};
  }

  // The template of a kept claim is needed too, and follows the fleet.
  void keep(const Container& container, const Record& record) {
    if (record.claim.empty()) {
      if (!fleet_.dra_models.empty()) {
        plan_.warnings.push_back(fmt::format(
            "container \"{}\" keeps one {} for {} of a GPU, though nodes are in mode dra now; "
            "apply "
            "its manifest again (delete a Pod or Job first) to have it claim that share",
            printable(container.name, 63), record.resource, record.gpu));
      }
      return;
    }
    if (plan_.templates.size() >= kMostShares) return;  // no Pod of ours has more
    auto made = claim_template(past_.claims().at(record.claim), fleet_, options_);
    if (made) return add_template(*std::move(made));
    plan_.warnings.push_back(fmt::format("container \"{}\" has no GPU to claim: {}",
                                         printable(container.name, 63), made.error().message()));
  }

  void find_stale() {
    std::set<std::string> used;
    for (const auto& plan : plan_.containers) used.insert(plan.claim);
    for (const auto& [container, record] : plan_.records) used.insert(record.claim);
    for (const auto& [name, shares] : past_.claims()) {
      if (!used.contains(name)) plan_.stale.insert(name);
    }
  }

  const PodParts& pod_;
  const Fleet& fleet_;
  const ClaimOptions& options_;
  Past past_;
  ClaimNames names_;
  std::map<std::string, Share> shares_;
  std::set<std::string> settled_;
  std::set<std::string> made_;  // templates
  Plan plan_;
};

}  // namespace

Result<Plan> make_plan(const PodParts& pod, const Manifests& manifests, const Fleet& fleet,
                       const ClaimOptions& options) {
  return Planner(pod, manifests, fleet, options).make();
}

}  // namespace tranche::admission
