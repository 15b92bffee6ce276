#include "agent/dra/claim_preparer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/uuid.h"
#include "cdi/claim_spec.h"
#include "cluster/kinds.h"
#include "cluster/resource_claim.h"
#include "dra/all_devices.h"
#include "dra/claim_conflicts.h"
#include "dra/joint.h"
#include "dra/mps_together.h"
#include "offer/devices.h"

namespace tranche::agent {
namespace {

using dra::PreparedClaim;

// Those of this boot, except `uid`.
std::vector<PreparedClaim> others_of(const std::map<std::string, PreparedClaim>& all,
                                     const std::string& uid, const std::string& boot) {
  std::vector<PreparedClaim> others;
  for (const auto& [id, claim] : all) {
    if (id != uid && claim.boot == boot) others.push_back(claim);
  }
  return others;
}

// The claims of this boot that share a tenant or the Pod with this one.
std::vector<PreparedClaim> with_its_tenants(const std::map<std::string, PreparedClaim>& all,
                                            const PreparedClaim& claim) {
  std::vector<PreparedClaim> found;
  for (const auto& [uid, other] : all) {
    if (uid == claim.uid || other.boot != claim.boot) continue;
    if (dra::have_a_tenant_together(claim, other) || dra::are_of_one_pod(claim, other)) {
      found.push_back(other);
    }
  }
  return found;
}

class Call {
 public:
  Call(Book& book, const std::string& uid) : book_(book), uid_(uid), number_(book.enter(uid)) {}
  ~Call() { book_.leave(uid_, number_); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  std::uint64_t number() const { return number_; }

 private:
  Book& book_;
  const std::string uid_;
  const std::uint64_t number_;
};

}  // namespace

std::optional<ClaimRecovery> ClaimPreparer::recovery(const Ports& ports) {
  if (ports.objects == nullptr) return std::nullopt;
  return ClaimRecovery({.objects = *ports.objects,
                        .kubelet = ports.kubelet,
                        .store = ports.store,
                        .pod = ports.pod,
                        .cdi_root = ports.make.cdi_root,
                        .log = ports.log});
}

Result<PreparedClaim> ClaimPreparer::prepare_again(const dra::ClaimName& name) {
  const auto node = ports_.node();
  if (node == nullptr) return fail(Code::kUnavailable, "the GPUs have not been read yet");
  ASSIGN_OR_RETURN(auto store, ports_.store.lock());
  ASSIGN_OR_RETURN(const auto known, prepared(store, name.uid, *node));
  if (known) return *known;
  return fail(
      Code::kFailedPrecondition,
      "this node takes no claims any more under this driver's name: DRA is off here, or the "
      "driver has another name now",
      "delete the Pod and its claim, so that the scheduler looks for another device");
}

Result<PreparedClaim> ClaimPreparer::prepare(const dra::ClaimName& name) {
  if (ports_.objects == nullptr) return prepare_again(name);
  const auto node = ports_.node();
  if (node == nullptr) return fail(Code::kUnavailable, "the GPUs have not been read yet");
  const Call call(ports_.book, name.uid);
  {
    ASSIGN_OR_RETURN(auto store, ports_.store.lock());
    ASSIGN_OR_RETURN(const auto known, prepared(store, name.uid, *node));
    if (known) return *known;
  }
  const auto begin = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(const auto claim, plan(name, *node));
  TRY(ports_.book.reserve(claim, node->machine));
  auto taken = take(claim, *node, call.number());
  if (taken) {
    const auto count = claim.devices.size();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    ports_.log.info(fmt::format("prepared claim {}/{} in {:.1f} ms: {} device{}", claim.ns,
                                claim.name, took.count(), count, count == 1 ? "" : "s"));
  }
  if (ports_.changed) ports_.changed();
  return taken;
}

Result<std::optional<PreparedClaim>> ClaimPreparer::prepared(ClaimStore::Locked& store,
                                                             const std::string& uid,
                                                             const ClaimNode& node) const {
  ASSIGN_OR_RETURN(const auto all, store.all());
  const auto known = all.find(uid);
  if (known == all.end() || known->second.boot != node.facts.boot) return std::nullopt;
  // Where nothing is made, only what was made to the end can be used; its CDI file comes last.
  const bool is_made = cdi::has_claim_file(FsRoot(), ports_.make.cdi_root, uid);
  if (ports_.objects == nullptr) return is_made ? std::optional(known->second) : std::nullopt;
  auto made = maker_.make(known->second, with_its_tenants(all, known->second), node);
  if (!made) {
    ports_.book.failed(uid, made.error().message());
    return std::unexpected(made.error());
  }
  ports_.book.commit(*made, node.machine);
  return *std::move(made);
}

// Stores and makes what is entered in the book. A stored claim stays in the book: kubelet asks for
// it again, or has it undone.
Result<PreparedClaim> ClaimPreparer::take(const PreparedClaim& claim, const ClaimNode& node,
                                          std::uint64_t call) const {
  bool stored = false;
  const auto attempt = [&]() -> Result<PreparedClaim> {
    TRY(check_stays(claim, node));
    ASSIGN_OR_RETURN(const auto pod, pod_to_join(claim, node));
    ASSIGN_OR_RETURN(auto store, await_room(claim, node, call));
    return store_and_make(store, claim, pod, node, stored);
  };
  auto result = attempt();
  if (!stored) {
    ports_.book.withdraw(claim.uid, call);
  } else if (!result) {
    ports_.book.failed(claim.uid, result.error().message());
  }
  return result;
}

// The book is updated under the store's lock, so undoing another claim of the same tenant comes
// after.
Result<PreparedClaim> ClaimPreparer::store_and_make(ClaimStore::Locked& store, PreparedClaim claim,
                                                    const std::optional<cluster::Pod>& pod,
                                                    const ClaimNode& node, bool& stored) const {
  ASSIGN_OR_RETURN(const auto all, store.all());
  // Another call may have come first.
  const auto known = all.find(claim.uid);
  stored = known != all.end() && known->second.boot == node.facts.boot;
  if (stored) {
    claim = known->second;
  } else {
    const auto others = others_of(all, claim.uid, claim.boot);
    if (pod) dra::join_shares(claim, others, *pod);
    TRY(dra::check_mps_together(claim, others, pod ? &*pod : nullptr));
    TRY(store.put(claim));
    stored = true;
  }
  ports_.book.commit(claim, node.machine);
  ASSIGN_OR_RETURN(auto made, maker_.make(claim, with_its_tenants(all, claim), node));
  ports_.book.commit(made, node.machine);
  return made;
}

Result<std::optional<cluster::Pod>> ClaimPreparer::pod_to_join(const PreparedClaim& claim,
                                                               const ClaimNode& node) const {
  std::vector<PreparedClaim> others = ports_.book.claims();
  std::erase_if(others, [&](const auto& one) { return one.boot != node.facts.boot; });
  const bool needed = dra::may_join(claim, others) ||
                      (!claim.pod.empty() && !dra::check_mps_together(claim, others, nullptr));
  if (!ports_.pod || !needed) return std::nullopt;
  if (auto pod = ports_.pod(claim.pod, std::chrono::steady_clock::now() + kLongestPodWait)) {
    return pod;
  }
  return fail(Code::kUnavailable,
              "the Pod has several shares of one GPU, or of GPUs that MPS serves, and which of its "
              "containers have which is not known yet",
              "kubelet tries again; may the agent list and watch Pods?");
}

Result<ClaimStore::Locked> ClaimPreparer::await_room(const PreparedClaim& claim,
                                                     const ClaimNode& node,
                                                     std::uint64_t call) const {
  const auto end = std::chrono::steady_clock::now() + longest_wait_;
  while (true) {
    const auto version = ports_.book.version();
    ASSIGN_OR_RETURN(auto store, ports_.store.lock());
    // Undoing needs the store's lock: it happened before this, or happens once the claim is stored.
    if (!ports_.book.stands(claim.uid, call)) {
      return fail(Code::kFailedPrecondition, "the claim has ended meanwhile");
    }
    ASSIGN_OR_RETURN(const auto all, store.all());
    const auto fits =
        dra::check_conflicts(claim, others_of(all, claim.uid, node.facts.boot), node.machine);
    if (fits) return store;
    {
      const auto unlocked = std::move(store);
    }
    if (!ports_.book.await_change(version, end)) return std::unexpected(fits.error());
  }
}

// A change of the MIG layout waits for claims that are entered, and takes away what others would
// get.
Result<void> ClaimPreparer::check_stays(const PreparedClaim& claim, const ClaimNode& node) const {
  for (const auto& device : claim.devices) {
    const auto& uuid = device.place ? device.place->gpu.value : device.uuid;
    if (device.admin_access || !node.leaving.contains(uuid)) continue;
    return fail(Code::kUnavailable,
                fmt::format("{} leaves service: the MIG layout is being changed", device.device),
                "delete the Pod and its claim, so that the scheduler looks for another device");
  }
  return {};
}

Result<PreparedClaim> ClaimPreparer::plan(const dra::ClaimName& name, const ClaimNode& node) const {
  ASSIGN_OR_RETURN(const auto claim, get_claim(*ports_.objects, name));
  TRY(check_all(claim, node));
  return dra::plan_claim(claim, node.machine, node.facts);
}

// A class that is gone says nothing any more, so what it matched is not known.
Result<void> ClaimPreparer::check_all(const cluster::ResourceClaim& claim,
                                      const ClaimNode& node) const {
  if (claim.for_all.empty()) return {};
  const auto listed = ports_.listed();
  if (!listed) return fail(Code::kUnavailable, "the ResourceSlices have not been made yet");
  auto ours = claim.devices;
  std::erase_if(ours, [&](const auto& device) {
    return device.driver != node.facts.driver || device.pool != node.facts.pool;
  });
  for (const auto& request : claim.for_all) {
    const auto object = ports_.objects->get(cluster::kDeviceClass, {"", request.device_class},
                                            {.deadline = kLongestGet});
    if (!object && object.error().code == Code::kNotFound) continue;
    if (!object) return std::unexpected(object.error());
    ASSIGN_OR_RETURN(const auto selectors, cluster::parse_class_selectors(object->json));
    TRY(dra::check_has_all(request, selectors, ours, *listed));
  }
  return {};
}

Result<void> ClaimPreparer::undo(ClaimStore::Locked& store, const PreparedClaim& claim,
                                 const ClaimMap& all, const ClaimNode* node) const {
  TRY(maker_.undo(claim, with_its_tenants(all, claim), node));
  return store.remove(claim.uid);
}

Result<void> ClaimPreparer::unprepare(const dra::ClaimName& name) {
  if (!is_uuid(name.uid)) return {};  // no such claim was ever prepared
  const auto node = ports_.node();
  std::optional<PreparedClaim> lost;
  if (recovery_) {
    ASSIGN_OR_RETURN(lost, recovery_->read_lost(name, node.get()));
  }
  ASSIGN_OR_RETURN(auto store, ports_.store.lock());
  ASSIGN_OR_RETURN(const auto all, store.all());
  const auto known = all.find(name.uid);
  if (known == all.end() && !lost) {
    TRY(cdi::remove_claim_file(FsRoot(), ports_.make.cdi_root, name.uid));
    TRY(store.remove(name.uid));
    ports_.book.end(name.uid);
    if (ports_.changed) ports_.changed();
    return {};
  }
  TRY(undo(store, known == all.end() ? *lost : known->second, all, node.get()));
  ports_.book.end(name.uid);
  if (ports_.changed) ports_.changed();
  ports_.log.info(fmt::format("claim {}/{} has ended", name.ns, name.name));
  return {};
}

// Returns the uids of lost records whose claims may have containers: those that have a CDI file. A
// file that cannot be removed does not keep the others from serving.
Result<std::set<std::string>> ClaimPreparer::remove_unknown_files(
    const ClaimMap& all, const std::set<std::string>& lost) const {
  ASSIGN_OR_RETURN(const auto uids, cdi::claims_with_files(FsRoot(), ports_.make.cdi_root));
  std::set<std::string> unreadable;
  for (const auto& uid : uids) {
    if (all.contains(uid)) continue;
    if (lost.contains(uid)) {
      unreadable.insert(uid);
      continue;
    }
    const auto removed = cdi::remove_claim_file(FsRoot(), ports_.make.cdi_root, uid);
    if (removed) continue;
    ports_.log.warn(Error(removed.error())
                        .with_context(fmt::format("the CDI file of claim {}, which is not "
                                                  "prepared, cannot be removed",
                                                  uid)));
  }
  return unreadable;
}

// Under the lock no instance is made or removed, so one without a record is not ours.
Result<std::set<gpu::GpuUuid>> ClaimPreparer::cut_by_others() {
  const auto node = ports_.node();
  auto* const instances = ports_.make.instances;
  if (instances == nullptr) return std::set<gpu::GpuUuid>();
  if (node == nullptr) return fail(Code::kUnavailable, "the GPUs have not been read yet");
  ASSIGN_OR_RETURN(auto store, ports_.store.lock());
  ASSIGN_OR_RETURN(const auto all, store.all());
  std::vector<dra::MigPlace> places;
  for (const auto& [uid, claim] : all) {
    if (claim.boot != node->facts.boot) continue;
    for (const auto& device : claim.devices) {
      if (device.place) places.push_back(*device.place);
    }
  }
  std::vector<gpu::GpuUuid> gpus;
  for (const auto& gpu : node->machine.gpus) {
    if (InstanceMaker::can_cut(gpu)) gpus.push_back(gpu.uuid);
  }
  return instances->cut_by_others(gpus, places);
}

Result<void> ClaimPreparer::restore() {
  const auto node = ports_.node();
  if (node == nullptr) return fail(Code::kUnavailable, "the GPUs have not been read yet");
  if (recovery_) TRY(recovery_->restore(*node));
  ASSIGN_OR_RETURN(auto store, ports_.store.lock());
  ASSIGN_OR_RETURN(const auto stored, store.all());
  ASSIGN_OR_RETURN(auto all, undo_earlier_boots(store, stored, *node));
  ASSIGN_OR_RETURN(auto unreadable, remove_unknown_files(all, store.lost()));
  std::map<std::string, std::string> troubles;  // by uid
  if (ports_.objects != nullptr) make_anew(all, *node, troubles);
  ports_.book.restore(all, node->machine, std::move(unreadable));
  for (auto& [uid, trouble] : troubles) ports_.book.failed(uid, std::move(trouble));
  if (ports_.changed) ports_.changed();
  return {};
}

// A claim that cannot be made must not keep the others from serving: kubelet asks for each again
// when it starts.
void ClaimPreparer::make_anew(ClaimMap& all, const ClaimNode& node,
                              std::map<std::string, std::string>& troubles) const {
  for (auto& [uid, claim] : all) {
    if (auto made = maker_.make(claim, with_its_tenants(all, claim), node)) {
      claim = *std::move(made);
    } else {
      troubles.emplace(uid, made.error().message());
      ports_.log.warn(std::move(made).error().with_context(fmt::format(
          "what the containers of claim {}/{} need cannot be made anew", claim.ns, claim.name)));
    }
  }
}

Result<ClaimPreparer::ClaimMap> ClaimPreparer::undo_earlier_boots(ClaimStore::Locked& store,
                                                                  const ClaimMap& all,
                                                                  const ClaimNode& node) const {
  ClaimMap here;
  ClaimMap left = all;
  for (const auto& [uid, claim] : all) {
    if (claim.boot == node.facts.boot) {
      here.emplace(uid, claim);
    } else {
      TRY(undo(store, claim, left, &node));
      left.erase(uid);
    }
  }
  if (here.size() < all.size()) {
    ports_.log.info(
        fmt::format("undid {} claims that were prepared before this machine was started",
                    all.size() - here.size()));
  }
  return here;
}

}  // namespace tranche::agent
