#pragma once
// journal/v1: what a layout change needs to resume after a crash, a reboot or a lost disk. Stored
// before each phase begins, on disk and on the Node (cluster/formats/mig_change.h). It has no list
// of completed steps: to resume, the hardware is read and the steps are planned from there
// (mig/apply.h).

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/time.h"
#include "mig/layout.h"

namespace tranche::mig {

struct Journal {
  enum class Phase {
    kAsking,     // nothing is changed yet
    kDraining,   // nothing is changed yet, but Pods are evicted
    kChanging,   // on the way to `to`
    kVerifying,  // in `to`; waiting for kubelet to offer it
    kUndoing,    // on the way back to `from`
    kFinished,   // in `to`, or in `from` if there is `trouble`
  };
  std::string id;
  std::string layout;  // the name in the label
  Phase phase = Phase::kAsking;
  Layout from;  // the changing GPUs, with their layout when the change began
  Layout to;
  cluster::WallTime started;
  cluster::WallTime deadline;  // of the phase
  std::string boot;            // the machine's boot id when the change began
  bool touched = false;        // it has changed the hardware
  std::string trouble;         // why it is undone; empty: it is not
  bool operator==(const Journal&) const = default;
};

// Maximum bytes of text. A journal of 16 GPUs takes a quarter of it.
inline constexpr std::size_t kLongestJournal = std::size_t{48} << 10U;

std::string_view to_string(Journal::Phase phase);
// Keeps times to the microsecond, and the first 2000 bytes of `trouble`.
std::string encode(const Journal& journal);
// kInvalidArgument: truncated, another version, or a text that cannot be ours (others may write the
// annotation): too long, layouts of different GPUs, nonsensical numbers. Whether the instances fit
// on the GPU is not checked: the driver decides that.
Result<Journal> decode_journal(std::string_view text);

}  // namespace tranche::mig
