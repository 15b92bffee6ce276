#pragma once
// Who holds devices on this node, according to kubelet: one answer for all who ask. The first
// thread that needs a younger answer than the last asks kubelet; others wait for its answer, or for
// the next if that one began too early for them. A failure counts as an answer.
//
// Never used by a thread that answers kubelet. Thread-safe.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cluster/pod_resources.h"

namespace tranche::agent {

struct HolderAnswer {
  std::chrono::steady_clock::time_point began{};  // when it was asked
  std::vector<cluster::HeldDevices> listed;       // from pod-resources
  // The checkpoint, read after `listed`, for which kubelet removes containers that are gone.
  Result<std::vector<cluster::HeldDevices>> remembered;
};

class HolderAnswers {
 public:
  using Answer = std::shared_ptr<const HolderAnswer>;
  // For an answer that begins after this call.
  static constexpr std::chrono::milliseconds kNow{0};

  HolderAnswers(cluster::PodResources& kubelet, const Clock& clock)
      : kubelet_(kubelet), clock_(clock) {}

  // An answer that began at most `age` ago. Errors: as PodResources::list().
  Result<Answer> get(std::chrono::milliseconds age);
  // The last answer for anybody; null: none, or a failure.
  Answer last() const;

 private:
  Result<Answer> ask() const;

  cluster::PodResources& kubelet_;
  const Clock& clock_;
  mutable std::mutex mutex_;  // not held while kubelet is asked
  std::condition_variable answered_;
  // Guarded by mutex_, from here.
  Result<Answer> last_ = Answer();
  std::chrono::steady_clock::time_point last_began_{};
  std::uint64_t begun_ = 0;  // how many questions have begun
  std::uint64_t ended_ = 0;  // the question that last_ answers; 0: none yet
};

}  // namespace tranche::agent
