#include "mig/step_taker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tranche::mig {
namespace {

// The GPU instance of a step.
template <class State>
auto find_instance(State& state, const Instance& instance) {
  return std::ranges::find_if(state.instances, [&](const gpu::GpuInstance& one) {
    return one.profile_id == instance.profile_id && one.placement == instance.placement;
  });
}

std::unexpected<Error> not_there() {
  return fail(Code::kInternal, "the reading that the step was made of has no such instance");
}

// `waits`: the mode was already set by someone else.
std::string reboot_hint(const gpu::Gpu& gpu, bool enabled, bool waits) {
  if (waits) {
    return fmt::format(
        "MIG mode {} of GPU {} is already waiting for a reboot: reboot this machine, then apply "
        "the layout",
        enabled ? "on" : "off", gpu.index);
  }
  return fmt::format(
      "set the mode by `nvidia-smi -i {} -mig {}` and reboot this machine; then apply the layout",
      gpu.index, enabled ? 1 : 0);
}

}  // namespace

Result<void> StepTaker::take(const Step& step, const gpu::Gpu& gpu, bool reset_follows) {
  switch (step.kind) {
    case Step::Kind::kDestroyCompute:
      return destroy_compute(step, gpu);
    case Step::Kind::kDestroyGpuInstance:
      return destroy_gpu_instance(step, gpu);
    case Step::Kind::kCreateGpuInstance:
      return create_gpu_instance(step);
    case Step::Kind::kCreateCompute:
      return create_compute(step, gpu);
    case Step::Kind::kSetModeToCome:
      return set_mode_to_come(step);
    case Step::Kind::kSetMode:
      return set_mode(step, gpu, reset_follows);
    case Step::Kind::kReset:
      return in_force_.contains(step.gpu) ? Result<void>() : reset(gpu, step.enabled);
  }
  return fail(Code::kInternal, "an unknown step");
}

Result<void> StepTaker::destroy_compute(const Step& step, const gpu::Gpu& gpu) {
  const auto& state = before_.at(step.gpu);
  const auto instance = find_instance(state, step.instance);
  if (instance == state.instances.end() || step.compute >= instance->compute.size()) {
    return not_there();
  }
  const int id = instance->compute[step.compute].id;
  auto done = hardware_.control.destroy_compute_instance(step.gpu, instance->id, id);
  if (!done) return std::unexpected(named(std::move(done.error()), gpu, instance->id));
  auto& left = find_instance(now_.at(step.gpu), step.instance)->compute;
  std::erase_if(left, [&](const gpu::ComputeInstance& one) { return one.id == id; });
  return {};
}

Result<void> StepTaker::destroy_gpu_instance(const Step& step, const gpu::Gpu& gpu) {
  auto& instances = now_.at(step.gpu).instances;
  const auto instance = find_instance(now_.at(step.gpu), step.instance);
  if (instance == instances.end()) return not_there();
  auto done = hardware_.control.destroy_gpu_instance(step.gpu, instance->id);
  if (!done) return std::unexpected(named(std::move(done.error()), gpu, instance->id));
  instances.erase(instance);
  return {};
}

Result<void> StepTaker::create_gpu_instance(const Step& step) {
  const auto& [profile, placement, compute] = step.instance;
  ASSIGN_OR_RETURN(const int id,
                   hardware_.control.create_gpu_instance(step.gpu, profile, placement.start));
  now_.at(step.gpu).instances.push_back(
      {.id = id, .profile_id = profile, .placement = placement, .compute = {}});
  return {};
}

// The driver decides where compute instances may begin, so it is asked about each free place.
Result<void> StepTaker::create_compute(const Step& step, const gpu::Gpu& gpu) {
  const auto instance = find_instance(now_.at(step.gpu), step.instance);
  if (instance == now_.at(step.gpu).instances.end()) return not_there();
  const int slices = step.instance.compute.at(step.compute);
  const int whole = compute_slices_of(gpu.mig_geometry, step.instance.profile_id);
  Result<int> made = fail(Code::kInvalidArgument, "there is no room for it");
  for (int start = 0; start + slices <= whole; ++start) {
    if (!is_free(instance->compute, start, slices)) continue;
    made = hardware_.control.create_compute_instance(step.gpu, instance->id, slices, start);
    if (made) instance->compute.push_back({.id = *made, .slices = slices, .start = start});
    if (made || made.error().code != Code::kInvalidArgument) break;
  }
  if (!made) return std::unexpected(std::move(made.error()));
  return {};
}

// The driver may apply it at once: one that resets an idle GPU does.
Result<void> StepTaker::set_mode_to_come(const Step& step) {
  TRY(hardware_.control.set_mode(step.gpu, step.enabled));
  return {};
}

Result<void> StepTaker::set_mode(const Step& step, const gpu::Gpu& gpu, bool reset_follows) {
  using Activation = gpu::MigControl::Activation;
  ASSIGN_OR_RETURN(const auto activation, hardware_.control.set_mode(step.gpu, step.enabled));
  switch (activation) {
    case Activation::kInForce:
      in_force_.insert(step.gpu);
      return {};
    case Activation::kNeedsReset:
      return reset_follows ? Result<void>() : reset(gpu, step.enabled);
    case Activation::kInUse:
      return std::unexpected(in_use(gpu, {}, "processes use the GPU, so it cannot be reset"));
    case Activation::kNeedsReboot:
      return fail(Code::kUnsupported,
                  "nothing can reset the GPU on this machine (it is passed through to it)",
                  reboot_hint(gpu, step.enabled, waited(step.gpu)));
  }
  return fail(Code::kInternal, "an unknown activation");
}

Result<void> StepTaker::reset(const gpu::Gpu& gpu, bool enabled) {
  auto done = hardware_.reset.reset(gpu.pci);
  if (done) return {};
  auto& error = done.error();
  if (error.code == Code::kFailedPrecondition) return std::unexpected(in_use(gpu, {}, error.what));
  if (error.code == Code::kUnsupported) error.hint = reboot_hint(gpu, enabled, waited(gpu.uuid));
  return done;
}

bool StepTaker::waited(const gpu::GpuUuid& gpu) const {
  if (hardware_.from == nullptr) return layout_of(before_.at(gpu)).waits;
  const auto from = hardware_.from->find(gpu);
  return from != hardware_.from->end() && from->second.waits;
}

Error StepTaker::in_use(const gpu::Gpu& gpu, std::optional<int> instance,
                        std::string_view said) const {
  const auto users = hardware_.users ? hardware_.users(gpu, instance) : DeviceUsers();
  if (users.names.empty()) {
    return {Code::kFailedPrecondition, std::string(said),
            users.unseen.empty() ? "end what has the GPU open (`fuser -v /dev/nvidia*` names it)"
                                 : users.unseen};
  }
  return {Code::kFailedPrecondition, fmt::format("{}: {}", said, fmt::join(users.names, ", ")),
          users.unseen.empty() ? "end these processes first"
                               : fmt::format("end these processes first; {}", users.unseen)};
}

Error StepTaker::named(Error error, const gpu::Gpu& gpu, int instance) const {
  if (error.code != Code::kFailedPrecondition) return error;
  return in_use(gpu, instance, error.what);
}

}  // namespace tranche::mig
