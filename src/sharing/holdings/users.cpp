#include "holdings/users.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "cluster/formats/limit_settings.h"

namespace tranche::holdings {
namespace {

using Names = std::pair<std::string_view, std::string_view>;  // namespace, name

// A container that uses a request of a claim.
struct User {
  const cluster::Pod* pod = nullptr;
  std::string_view container;
  std::string_view request;  // empty: all of the claim's requests
  std::string resource;      // Holding::resource
};
using Users = std::multimap<Names, User>;  // by the claim

bool is_started(const cluster::Pod& pod, std::string_view container) {
  return std::ranges::any_of(pod.container_ids,
                             [&](const auto& one) { return one.second == container; });
}

void add_own(const cluster::Pod& pod, Users& users) {
  for (const auto& container : pod.containers) {
    for (const auto& [name, request] : container.claims) {
      const auto claim = std::ranges::find(pod.claims, name, &cluster::PodClaim::name);
      if (claim == pod.claims.end() || claim->object.empty()) continue;
      users.emplace(Names(pod.ns, claim->object),
                    User{.pod = &pod,
                         .container = container.name,
                         .request = request,
                         .resource = cluster::claim_resource(name, request)});
    }
  }
}

// Of the claim that the scheduler made for extended resources.
void add_extended(const cluster::Pod& pod, Users& users) {
  for (const auto& use : pod.extended.uses) {
    if (use.request.empty()) continue;
    users.emplace(Names(pod.ns, pod.extended.object), User{.pod = &pod,
                                                           .container = use.container,
                                                           .request = use.request,
                                                           .resource = use.resource});
  }
}

void add_users(const Holding& claimed, const Users& users, std::vector<Holding>& all) {
  const auto before = all.size();
  const auto [begin, end] = users.equal_range(Names(claimed.ns, claimed.claim));
  for (auto user = begin; user != end; ++user) {
    const auto& [pod, container, request, resource] = user->second;
    if (!request.empty() && request != claimed.request) continue;
    auto& one = all.emplace_back(claimed);
    one.pod = pod->name;
    one.pod_uid = pod->uid;
    one.container = container;
    one.resource.value = resource;
    if (one.state == State::kGiven && is_started(*pod, container)) one.state = State::kInUse;
  }
  if (all.size() == before) all.push_back(claimed);
}

}  // namespace

Holdings with_users(const Holdings& known, std::span<const cluster::Pod> pods) {
  Users users;
  std::map<Names, std::string_view> uids;
  for (const auto& pod : pods) {
    uids.emplace(Names(pod.ns, pod.name), pod.uid);
    if (cluster::has_ended(pod)) continue;
    add_own(pod, users);
    add_extended(pod, users);
  }
  std::vector<Holding> all;
  for (const auto& one : known) {
    if (one.wire == Wire::kClaim && one.pod.empty()) {
      add_users(one, users, all);
      continue;
    }
    all.push_back(one);
    const auto uid = uids.find(Names(one.ns, one.pod));
    if (uid != uids.end()) all.back().pod_uid = uid->second;
  }
  return Holdings(std::move(all));
}

}  // namespace tranche::holdings
