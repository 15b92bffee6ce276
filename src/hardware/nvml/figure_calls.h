#pragma once
// Calls of NVML about the figures of one GPU, on a pool thread. What the driver does not tell of
// one figure ("not supported", "no permission", "not found" and other failures of that call) leaves
// that figure out. A GPU or driver that is gone ends the reading: no further call is made.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nvml/calls.h"

namespace tranche::nvml {

class FigureCalls {
 public:
  explicit FigureCalls(Calls& call) : call_(call) {}

  const Api& api() const { return call_.api(); }

  // Whether the call succeeded, so that its output holds a figure.
  template <class... Parameters, class... Arguments>
  bool tells(const Function<Return(Parameters...)>& function, Arguments... arguments) {
    return ask(function, arguments...) == kSuccess;
  }
  // The same, for those to whom the reason matters. After a loss the answer is that of the loss.
  template <class... Parameters, class... Arguments>
  Return ask(const Function<Return(Parameters...)>& function, Arguments... arguments) {
    if (loss_ != kSuccess) return loss_;
    const Return result = call_(function, arguments...);
    if (is_loss(result)) {
      loss_ = result;
      failure_ = call_.describe(function.name, result);
    }
    return result;
  }

  // The handle of the GPU; nullopt: loss() says why.
  std::optional<Device> find(const std::string& uuid);

  Return loss() const { return loss_; }  // kSuccess: the GPU is there
  const std::string& failure() const { return failure_; }

 private:
  static bool is_loss(Return result) {
    return result == kGpuIsLost || result == kGpuNotFound || result == kUninitialized ||
           result == kDriverNotLoaded;
  }

  Calls& call_;
  Return loss_ = kSuccess;
  std::string failure_;
};

// A MIG device of a GPU.
struct MigHandle {
  Device device = nullptr;
  std::string uuid;
};
// In the order of slots; none without MIG. One that cannot be read, or is gone, is left out.
std::vector<MigHandle> mig_handles(FigureCalls& call, Device gpu);

// nullopt: no percentage.
inline std::optional<std::uint32_t> percentage(std::uint32_t value) {
  return value <= 100 ? std::optional(value) : std::nullopt;
}

// A field's value as an unsigned number. nullopt: the driver does not tell it, or tells no such
// number.
std::optional<std::uint64_t> read_field(FigureCalls& call, Device device, std::uint32_t field_id);

}  // namespace tranche::nvml
