#pragma once
// The entry point of every NVML function of the simulated library: checks that the library is
// initialised, whether a fault applies, that the handle is valid, and that the GPU is present. The
// functions themselves then only compute their result.
//
// Handles are numbers disguised as pointers, never dereferenced: any invented value is
// distinguished from ours, and a handle of a destroyed MIG instance is recognised by its
// generation. One per process; thread-safe.

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/gpu/open_gpus.h"
#include "sim/gpu/visible.h"
#include "sim/nvml/abi.h"
#include "sim/state/simulation.h"

#define NVML_API extern "C" __attribute__((visibility("default")))

namespace tranche::sim {

using namespace abi;  // NOLINT(google-build-using-namespace): NVML's names are the point here

// An initialised library, as seen by one call.
struct Session {
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  std::shared_ptr<Simulation> sim;
  Visible visible;
  ProcessSlot* slot = nullptr;  // says that this process has the GPUs open; null: all are taken
  std::vector<OwnedFd> nodes;

  State& state() const { return sim->state(); }
  // GPUs that are visible and not gone, in order: the range of NVML's index.
  std::uint32_t count() const;
  std::optional<std::uint32_t> gpu_at(std::uint32_t index) const;
  std::uint32_t index_of(std::uint32_t gpu) const;
  bool is_shown(std::uint32_t gpu) const;
};

nvmlReturn_t initialise();
nvmlReturn_t shut_down();
// Null if the library is not initialised.
std::shared_ptr<const Session> session();

// The object that a handle refers to.
struct Device {
  const Session& session;
  std::uint32_t gpu = 0;
  std::uint32_t gpu_instance = kNone;      // kNone: a whole GPU
  std::uint32_t compute_instance = kNone;  // kNone: not a MIG device

  Simulation& sim() const { return *session.sim; }
  State& state() const { return session.state(); }
  Gpu& hardware() const { return state().gpus[gpu]; }
  const Model& model() const { return state().models[hardware().model]; }
  bool is_mig() const { return compute_instance != kNone; }
  GpuInstance& instance() const { return hardware().instances[gpu_instance]; }
  ComputeInstance& compute() const { return instance().compute[compute_instance]; }
};

nvmlDevice_t gpu_handle(std::uint32_t gpu);
nvmlDevice_t mig_handle(const State& state, std::uint32_t gpu, std::uint32_t gpu_instance,
                        std::uint32_t compute_instance);
nvmlGpuInstance_t gpu_instance_handle(const State& state, std::uint32_t gpu,
                                      std::uint32_t gpu_instance);
nvmlComputeInstance_t compute_instance_handle(const State& state, std::uint32_t gpu,
                                              std::uint32_t gpu_instance,
                                              std::uint32_t compute_instance);

// nvmlReturn_t for an Error from the machine's own functions.
nvmlReturn_t to_nvml(const Error& error);

// A call's output pointers: none may be null.
template <class... Pointers>
bool given(Pointers... pointers) {
  return ((pointers != nullptr) && ...);
}

// Copies with the terminating zero; INSUFFICIENT_SIZE if it does not fit.
nvmlReturn_t copy_text(std::string_view text, char* out, unsigned int length);

namespace detail {
enum class HandleKind : std::uint32_t { kDevice = 1, kGpuInstance = 2, kComputeInstance = 3 };
// Checks faults and presence for a device handle; NVML_SUCCESS fills `out`'s numbers. `done`: what
// a successful call should return nevertheless.
nvmlReturn_t enter(const Session& session, std::string_view function, const void* handle,
                   HandleKind kind, Device& out, nvmlReturn_t& done);
nvmlReturn_t enter(const Session& session, std::string_view function);

template <class Function>
nvmlReturn_t on_handle(std::string_view function, const void* handle, HandleKind kind,
                       bool arguments_given, Function answer) {
  const auto current = session();
  if (!current) return NVML_ERROR_UNINITIALIZED;
  if (!arguments_given) return NVML_ERROR_INVALID_ARGUMENT;
  Device device{*current};
  nvmlReturn_t done = NVML_SUCCESS;
  const nvmlReturn_t entered = enter(*current, function, handle, kind, device, done);
  if (entered != NVML_SUCCESS) return entered;
  const nvmlReturn_t answered = answer(std::as_const(device));
  return answered == NVML_SUCCESS ? done : answered;
}
}  // namespace detail

// A call without a device. `answer` takes the Session.
template <class Function>
nvmlReturn_t on_system(std::string_view function, bool arguments_given, Function answer) {
  const auto current = session();
  if (!current) return NVML_ERROR_UNINITIALIZED;
  if (!arguments_given) return NVML_ERROR_INVALID_ARGUMENT;
  const nvmlReturn_t entered = detail::enter(*current, function);
  return entered == NVML_SUCCESS ? answer(*current) : entered;
}

// A call about a GPU or MIG device. `answer` takes the Device.
template <class Function>
nvmlReturn_t on_device(std::string_view function, nvmlDevice_t handle, bool arguments_given,
                       Function answer) {
  return detail::on_handle(function, handle, detail::HandleKind::kDevice, arguments_given, answer);
}

// The same, refused for MIG devices with `refusal`.
template <class Function>
nvmlReturn_t on_gpu(std::string_view function, nvmlDevice_t handle, bool arguments_given,
                    Function answer, nvmlReturn_t refusal = NVML_ERROR_NOT_SUPPORTED) {
  return on_device(function, handle, arguments_given, [&](const Device& device) {
    return device.is_mig() ? refusal : answer(device);
  });
}

template <class Function>
nvmlReturn_t on_gpu_instance(std::string_view function, nvmlGpuInstance_t handle,
                             bool arguments_given, Function answer) {
  return detail::on_handle(function, handle, detail::HandleKind::kGpuInstance, arguments_given,
                           answer);
}

template <class Function>
nvmlReturn_t on_compute_instance(std::string_view function, nvmlComputeInstance_t handle,
                                 bool arguments_given, Function answer) {
  return detail::on_handle(function, handle, detail::HandleKind::kComputeInstance, arguments_given,
                           answer);
}

}  // namespace tranche::sim
