#pragma once
// Decides the next actions so that the nodes of a pool get its layout, one after another or as many
// at once as the pool allows. Pure: from the Nodes only, so a starting controller continues where
// another stopped. All state is on the Nodes:
//
//     label       nvidia.com/mig.config        what the agent should do
//     label       nvidia.com/mig.config.state  how far the agent is
//     annotation  tranche.dev/mig-applied      the layout of that state, since the state alone may
//                                              refer to a previous layout
//     annotation  tranche.dev/mig-pool         mig-pool/v1: that the pool set the label, what the
//                                              node had before, and whether it was rolled back
//
// A label set by someone else is left alone and reported. When a node fails, nothing more is
// started; with `onFailure: rollBack` the nodes get their previous layouts back. A pool that was
// rolled back stays so until its layout changes, or the annotations are removed.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/node.h"
#include "cluster/time.h"
#include "mig/pool.h"

namespace tranche::mig {

inline constexpr const char* kMigPoolAnnotation = "tranche.dev/mig-pool";

// The annotation. `label`: the value that was set; "": the label was removed.
struct PoolMark {
  std::string pool;
  std::string layout;  // the pool's layout when this was written
  std::string before;  // the previous label; "": none
  std::string label;
  bool back = false;  // it was rolled back
  cluster::WallTime since;
  bool operator==(const PoolMark&) const = default;
};
std::string encode(const PoolMark& mark);
Result<PoolMark> decode_pool_mark(std::string_view text);

struct PoolStatus {
  enum class Phase { kRolling, kDone, kStopped, kRollingBack, kRolledBack };
  struct Remark {
    std::string node;
    std::string what;
    bool operator==(const Remark&) const = default;
  };
  Phase phase = Phase::kRolling;
  std::string pool;
  std::string layout;
  std::size_t nodes = 0;
  std::size_t done = 0;          // in the layout
  std::vector<std::string> now;  // nodes changing at this moment
  std::vector<Remark> failed;
  std::vector<Remark> left_alone;
  bool operator==(const PoolStatus&) const = default;
};
std::string_view to_string(PoolStatus::Phase phase);  // "rolling", "rolled back", ...
// "rolling: 3 of 8 nodes have all-1g.10gb; now gpu-4; failed: ..."; one line.
std::string describe(const PoolStatus& status);

// A Node that should get this label and annotation, in one write.
struct PoolWrite {
  cluster::Node node;  // as it was read
  PoolMark mark;
  bool accept_outage = false;
};

struct PoolPlan {
  std::vector<PoolWrite> writes;
  PoolStatus status;
};

// Whether the pool's selector selects the node.
bool is_in(const Pool& pool, const cluster::Node& node);

// `nodes`: all nodes of the cluster that are in no other pool.
PoolPlan plan_pool(const Pool& pool, const std::vector<cluster::Node>& nodes,
                   cluster::WallTime now);

}  // namespace tranche::mig
