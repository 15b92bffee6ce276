#pragma once
// A change of a node's MIG layout, as the agent and the controller speak of it through two
// annotations of the Node. The agent's token may write its own Node alone; only the controller
// cordons and evicts. A label beside them lets the controller watch the Nodes that have one.
//
//     agent       tranche.dev/mig-change   {"version":"mig-change/v1","id":...,"phase":...}
//     controller  tranche.dev/mig-drain    {"version":"mig-drain/v1","id":...,"answer":...}
//
// The way of a change (docs/mig-manager.md):
//   kAsking    the agent has checked the layout and says what would leave service. The controller
//              answers whether the change may go on, with what becomes Pending, and which resources
//              no other node offers.
//   kDraining  the controller cordons the Node and evicts `pods`, which the agent writes anew from
//              kubelet's pod-resources until it is empty.
//   kChanging  the agent changes the hardware and sees to it that kubelet offers the new devices.
//              The controller keeps the cordon.
//   kFinished  in the new layout, or back in the old one (`failed`). The controller takes its
//   cordon
//              away and says so; then the agent removes label and annotation.
//
// The cordon is marked with the annotation tranche.dev/mig-cordoned, written together with it; a
// Node that an administrator had cordoned has no mark and stays cordoned. The controller ignores a
// text that the agent has not renewed for kValid, but for its own cordon: that stays until the
// agent has finished or the label has gone. Schemas:
// docs/schemas/mig-{change,drain}-v1.schema.json.
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
#include "cluster/time.h"

namespace tranche::cluster {

inline constexpr const char* kMigConfigLabel = "nvidia.com/mig.config";
inline constexpr const char* kMigStateLabel = "nvidia.com/mig.config.state";
inline constexpr const char* kMigChangeLabel = "tranche.dev/mig-change";
inline constexpr const char* kMigChangeLabelValue = "open";
inline constexpr const char* kMigChangeAnnotation = "tranche.dev/mig-change";
// What became of the last wish, for an agent whose disk is lost (agent/mig/mig_files.h). Opaque to
// all others.
inline constexpr const char* kMigAppliedAnnotation = "tranche.dev/mig-applied";
inline constexpr const char* kMigDrainAnnotation = "tranche.dev/mig-drain";
inline constexpr const char* kMigCordonedAnnotation = "tranche.dev/mig-cordoned";
// Names the layout for which an outage is accepted, on the Node: a person sets it.
inline constexpr const char* kMigAcceptOutageAnnotation = "tranche.dev/mig-accept-outage";

enum class MigPhase { kAsking, kDraining, kChanging, kFinished };
std::string_view to_string(MigPhase phase);  // "asking", ...

// A Pod that holds a device that leaves service, as kubelet's pod-resources names it.
struct MigHolder {
  std::string ns;
  std::string name;
  auto operator<=>(const MigHolder&) const = default;
};

struct MigChange {
  static constexpr std::size_t kMostPods = 256;
  static constexpr std::size_t kLongest = std::size_t{64} << 10U;  // bytes of text
  static constexpr std::size_t kLongestWhy = 256;                  // bytes
  static constexpr std::size_t kLongestWait = 1024;                // of `waits_for`
  static constexpr std::chrono::seconds kRefresh{30};
  static constexpr std::chrono::minutes kValid{5};

  std::string id;      // of this change; a new one has another
  std::string layout;  // its name
  MigPhase phase = MigPhase::kAsking;
  WallTime written_at;
  // When the Pods must have gone; then the change is given up.
  WallTime deadline;
  bool failed = false;  // kFinished: back in the old layout
  // Allocatable tranches of the node by resource, before and after.
  std::map<std::string, std::int64_t> before;
  std::map<std::string, std::int64_t> after;
  std::vector<MigHolder> pods;
  // Of those that hold no device that changes: why they end all the same. For people, at most
  // kLongestWhy bytes each.
  std::map<MigHolder, std::string> why;
  // What the change waits for beside Pods that hold a device, for people: "Pods of NVIDIA's clients
  // end first: gpu-operator/nvidia-dcgm-x7f2". Empty: nothing.
  std::string waits_for = {};
  // mig/journal.h: with it an agent whose disk was lost goes on. Opaque here.
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
    MigHolder pod;
    std::string why;   // "PodDisruptionBudget default/web allows no eviction now"
    WallTime since{};  // when this was seen first; of an older release: the epoch
    bool operator==(const Blocked&) const = default;
  };

  std::string id;  // of the change that is answered
  WallTime written_at;
  Answer answer = Answer::kAccepted;
  std::string reason;                // of a refusal: what it would break, and what to do
  std::vector<std::string> outages;  // resources that no other node offers
  std::vector<std::string> pending;  // "default/a (nvidia.com/gpu: 1)": finds no place elsewhere
  bool cordoned = false;
  bool uncordoned = false;       // kFinished: the cordon, if it was ours, is gone
  std::vector<Blocked> blocked;  // Pods that were not evicted yet, or never will be
  bool operator==(const MigDrain&) const = default;
};

std::string_view to_string(MigDrain::Answer answer);  // "accepted", "refused"

// Pods beyond kMostPods, and those for which kLongest has no room, are left out: they come when the
// first have gone. Times are kept in whole microseconds.
std::string encode(const MigChange& change);
// Lists are cut at kMost, texts at their most; what is not printable ASCII in a text becomes '?'.
std::string encode(const MigDrain& drain);
// kInvalidArgument: not of this version, too long, or a field that cannot be one.
Result<MigChange> decode_mig_change(std::string_view text);
Result<MigDrain> decode_mig_drain(std::string_view text);

}  // namespace tranche::cluster
