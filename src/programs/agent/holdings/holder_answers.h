#pragma once
// Who holds devices on this node, as kubelet tells: one answer for all who ask. Kubelet is asked
// when somebody needs an answer that is younger than the last one, by the thread that needs it;
// others who come meanwhile wait for that answer, or for the next where it began too early. A
// failure is an answer, too.
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

// An answer of kubelet.
struct HolderAnswer {
  std::chrono::steady_clock::time_point began{};  // when it was asked
  std::vector<cluster::HeldDevices> listed;       // pod-resources
  // The checkpoint, read behind `listed`: for that answer kubelet has thrown out who is gone.
  Result<std::vector<cluster::HeldDevices>> remembered;
};

class HolderAnswers {
 public:
  using Answer = std::shared_ptr<const HolderAnswer>;
  // Kubelet is asked after this call has begun.
  static constexpr std::chrono::milliseconds kNow{0};

  HolderAnswers(cluster::PodResources& kubelet, const Clock& clock)
      : kubelet_(kubelet), clock_(clock) {}

  // An answer that began no longer than `age` ago. Errors: as PodResources::list().
  Result<Answer> get(std::chrono::milliseconds age);
  // The last answer, if there was one and it was no failure, whoever asked.
  Answer last() const;

 private:
  Result<Answer> ask() const;

  cluster::PodResources& kubelet_;
  const Clock& clock_;
  mutable std::mutex mutex_;  // not held while kubelet is asked
  std::condition_variable answered_;
  // The members below are guarded by mutex_.
  Result<Answer> last_ = Answer();
  std::chrono::steady_clock::time_point last_began_{};
  std::uint64_t begun_ = 0;  // how many questions have begun
  std::uint64_t ended_ = 0;  // the question that last_ answers; 0: none yet
};

}  // namespace tranche::agent
