#pragma once
// What an agent does about MPS: a resource is offered when its control daemon serves; when that is
// gone later its devices are unhealthy until it is back, and nothing is registered anew.

#include <filesystem>
#include <string_view>

#include "agent/loop/stage.h"

namespace tranche::agent {

// What to do about a control daemon that does not serve.
inline constexpr std::string_view kMpsRemedy =
    "look at the Pod of mps-control-daemon on this node (it runs where the node's label "
    "nvidia.com/mps.capable is true)";

// Looks at the files `.started` of the control daemons (mps/ready_file.h).
class MpsInput final : public Input {
 public:
  // How soon it is seen that a control daemon has come or gone.
  static constexpr std::chrono::milliseconds kInterval{1000};

  // `root`: the folder that has a folder for each resource.
  explicit MpsInput(std::filesystem::path root) : root_(std::move(root)) {}

  void look(const offer::Offer& wished, State& state) override;
  std::optional<std::chrono::milliseconds> interval(const State& state) const override;
  std::string trouble(const State& state) const override;

 private:
  std::filesystem::path root_;
};

// A resource whose daemon has not served yet is withheld.
offer::Offer offer_what_mps_serves(const State& state, offer::Offer offer);

}  // namespace tranche::agent
