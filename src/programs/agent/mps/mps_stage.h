#pragma once
// The agent's part in MPS: offers a resource once its control daemon serves. If the daemon is gone
// later, the resource's devices are unhealthy until it is back; nothing is registered again.

#include <filesystem>

#include "agent/loop/stage.h"
#include "agent/mps/mps_standing.h"

namespace tranche::agent {

// Reads the files `.started` of the control daemons (mps/ready_file.h).
class MpsInput final : public Input {
 public:
  // Delay until a control daemon that started or ended is noticed.
  static constexpr std::chrono::milliseconds kInterval{1000};
  // The same while one is awaited after a change of the MIG layout.
  static constexpr std::chrono::milliseconds kAwaited{50};

  // `root`: has a folder for each resource.
  explicit MpsInput(std::filesystem::path root) : root_(std::move(root)) {}

  void look(const offer::Offer& wished, State& state) override;
  std::optional<std::chrono::milliseconds> interval(const State& state) const override;
  std::string trouble(const State& state) const override;

 private:
  std::filesystem::path root_;
};

// Withholds resources whose daemon has not served yet.
offer::Offer offer_what_mps_serves(const State& state, offer::Offer offer);

}  // namespace tranche::agent
