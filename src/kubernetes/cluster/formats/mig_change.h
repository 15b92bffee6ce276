#pragma once
// A change of a node's MIG layout, as negotiated by the agent and the controller through two
// annotations of the Node. The agent's token may only write its own Node; only the controller
// cordons and evicts. An additional label lets the controller watch the Nodes that have one.
//
// clang-format off
//     agent       tranche.dev/mig-change   {"version":"mig-change/v1","id":...,"phase":...}
//     controller  tranche.dev/mig-drain    {"version":"mig-drain/v1","id":...,"answer":...}
//
// The phases of a change (docs/mig-manager.md):
//   kAsking    The agent has checked the layout and lists what would leave service. The controller
//              answers whether the change may proceed, with what becomes Pending, and which
//              resources no other node offers.
//   kDraining  The controller cordons the Node and evicts `pods`, which the agent updates from
//              kubelet's pod-resources until it is empty.
//   kChanging  The agent changes the hardware and makes sure that kubelet offers the new devices.
//              The controller keeps the cordon.
//   kFinished  In the new layout, or back in the old one (`failed`). The controller removes its
//              cordon and reports that; then the agent removes label and annotation.
// clang-format on
//
// The cordon is marked with the annotation tranche.dev/mig-cordoned, written together with it; a
// Node cordoned by an administrator has no mark and stays cordoned. The controller ignores a text
// that the agent has not renewed for kValid, except for its own cordon: that stays until the agent
// has finished or the label is gone. Schemas: docs/schemas/mig-{change,drain}-v1.schema.json.
//
// Neither trusts the other's text: the controller asks the API server about each Pod (bound to this
// node, and what kind of Pod), the agent asks kubelet who holds what.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/object.h"
#include "cluster/time.h"

namespace tranche::cluster {

inline constexpr const char* kMigConfigLabel = "nvidia.com/mig.config";
inline constexpr const char* kMigStateLabel = "nvidia.com/mig.config.state";
inline constexpr const char* kMigChangeLabel = "tranche.dev/mig-change";
inline constexpr const char* kMigChangeLabelValue = "open";
inline constexpr const char* kMigChangeAnnotation = "tranche.dev/mig-change";
// The outcome of the last wish, for an agent whose disk is lost (agent/mig/mig_files.h). Opaque to
// all others.
inline constexpr const char* kMigAppliedAnnotation = "tranche.dev/mig-applied";
inline constexpr const char* kMigDrainAnnotation = "tranche.dev/mig-drain";
inline constexpr const char* kMigCordonedAnnotation = "tranche.dev/mig-cordoned";
// Names the layout for which an outage is accepted; a person sets it on the Node.
inline constexpr const char* kMigAcceptOutageAnnotation = "tranche.dev/mig-accept-outage";

enum class MigPhase { kAsking, kDraining, kChanging, kFinished };
std::string_view to_string(MigPhase phase);  // "asking", ...

struct MigChange {
  static constexpr std::size_t kMostPods = 256;
  static constexpr std::size_t kLongest = std::size_t{64} << 10U;  // bytes of text
  static constexpr std::size_t kLongestWhy = 256;                  // bytes
  static constexpr std::size_t kLongestWait = 1024;                // of `waits_for`
  static constexpr std::chrono::seconds kRefresh{30};
  static constexpr std::chrono::minutes kValid{5};

  std::string id;      // of this change; each change has its own
  std::string layout;  // the layout's name
  MigPhase phase = MigPhase::kAsking;
  WallTime written_at;
  // The Pods must be gone by then; otherwise the change is abandoned.
  WallTime deadline;
  bool failed = false;  // kFinished: back in the old layout
  // Allocatable tranches of the node by resource, before and after.
  std::map<std::string, std::int64_t> before;
  std::map<std::string, std::int64_t> after;
  // That hold a device that leaves service, as listed by kubelet's pod-resources.
  std::vector<ObjectKey> pods;
  // For Pods that hold no changing device: why they are evicted anyway. For people, at most
  // kLongestWhy bytes each.
  std::map<ObjectKey, std::string> why;
  // What the change waits for in addition to Pods that hold a device, for people: "Pods of NVIDIA's
  // clients end first: gpu-operator/nvidia-dcgm-x7f2". Empty: nothing.
  std::string waits_for = {};
  // mig/journal.h: lets an agent resume whose disk was lost. Opaque here.
  std::string journal;
  bool operator==(const MigChange&) const = default;
};

struct MigDrain {
  static constexpr std::size_t kMost = 64;             // of each list
  static constexpr std::size_t kLongestReason = 1024;  // bytes
  static constexpr std::size_t kLongestItem = 256;     // of a list, and of Blocked::why
  static constexpr std::size_t kLongest = std::size_t{128} << 10U;  // bytes of text
  enum class Answer { kAccepted, kRefused };
  struct Blocked {
    ObjectKey pod;
    std::string why;   // "PodDisruptionBudget default/web allows no eviction now"
    WallTime since{};  // when this was first seen; from an older release: the epoch
    bool operator==(const Blocked&) const = default;
  };

  std::string id;  // id of the answered change
  WallTime written_at;
  Answer answer = Answer::kAccepted;
  std::string reason;  // reason of a refusal: what the change would break, and what to do
  std::vector<std::string> outages;  // resources that no other node offers
  std::vector<std::string> pending;  // "default/a (nvidia.com/gpu: 1)": no other node has room
  bool cordoned = false;
  bool uncordoned = false;       // kFinished: the cordon, if it was ours, is removed
  std::vector<Blocked> blocked;  // Pods not evicted yet, or never
  bool operator==(const MigDrain&) const = default;
};

std::string_view to_string(MigDrain::Answer answer);  // "accepted", "refused"

// Pods beyond kMostPods, and those that do not fit into kLongest, are omitted: they follow when the
// first are gone. Times are kept in whole microseconds.
std::string encode(const MigChange& change);
// Lists are cut at kMost, texts at their maximum; characters that are not printable ASCII become
// '?'.
std::string encode(const MigDrain& drain);
// kInvalidArgument: not of this version, too long, or an invalid field.
Result<MigChange> decode_mig_change(std::string_view text);
Result<MigDrain> decode_mig_drain(std::string_view text);

}  // namespace tranche::cluster
