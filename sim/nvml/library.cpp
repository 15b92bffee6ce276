#include "sim/nvml/library.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "sim/state/faults.h"
#include "sim/state/liveness.h"

namespace tranche::sim {
namespace {

struct Library {
  std::mutex mutex;
  unsigned int initialised = 0;
  std::shared_ptr<const Session> session;
};

// Leaked: other libraries may call from their destructors.
Library& library() {
  static auto& instance = *new Library;
  return instance;
}

// As nvmlInit, which opens the device nodes of the GPUs that the process sees.
void open_seen(Session& session) {
  std::uint64_t seen = 0;
  for (std::uint32_t gpu = 0; gpu < session.state().gpu_count; ++gpu) {
    if (session.is_shown(gpu)) seen |= std::uint64_t{1} << gpu;
  }
  if (seen == 0) return;
  const auto slot = session.sim->claim_slot("");
  if (!slot) return;
  session.slot = *slot;
  session.nodes = open_gpus(*session.sim, **slot, seen);
}

// Faults apply to nvmlInit_v2 too, before there is a session.
nvmlReturn_t open_session(std::shared_ptr<const Session>& out) {
  auto sim = Simulation::open(options_from_environment());
  if (!sim) {
    std::fprintf(stderr, "libnvidia-ml (simulated): %s\n", sim.error().message().c_str());
    return NVML_ERROR_DRIVER_NOT_LOADED;
  }
  const State& state = (*sim)->state();
  if (const auto fault = meet_faults(**sim, "nvmlInit_v2", kNone); fault != 0) {
    return static_cast<nvmlReturn_t>(fault);
  }
  if (const auto error = state.init_error.load(); error != 0) {
    return static_cast<nvmlReturn_t>(error);
  }
  auto made = std::make_shared<Session>();
  made->visible = read_visible(state, std::getenv("NVIDIA_VISIBLE_DEVICES"), FsRoot());
  made->sim = *std::move(sim);
  open_seen(*made);
  out = std::move(made);
  return NVML_SUCCESS;
}

// 0x7A1 | kind | generation | gpu | gpu instance | compute instance
constexpr std::uint64_t kTag = 0x7A1;

std::uint64_t encode(detail::HandleKind kind, std::uint32_t generation, std::uint32_t gpu,
                     std::uint32_t gpu_instance, std::uint32_t compute_instance) {
  return kTag << 48U | static_cast<std::uint64_t>(kind) << 44U |
         (std::uint64_t{generation} & 0xFFFFFU) << 24U | std::uint64_t{gpu} << 16U |
         (std::uint64_t{gpu_instance} & 0xFFU) << 8U | (std::uint64_t{compute_instance} & 0xFFU);
}

template <class Handle>
Handle as_handle(std::uint64_t value) {
  return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(value));  // NOLINT: see library.h
}

std::uint32_t byte_or_none(std::uint64_t value) {
  return (value & 0xFFU) == 0xFFU ? kNone : static_cast<std::uint32_t>(value & 0xFFU);
}

std::uint32_t generation_of(const Gpu& gpu, std::uint32_t gpu_instance,
                            std::uint32_t compute_instance) {
  if (gpu_instance == kNone) return 0;
  const GpuInstance& instance = gpu.instances[gpu_instance];
  if (compute_instance == kNone) return instance.generation;
  return instance.generation * 31 + instance.compute[compute_instance].generation;
}

// Fills `out` if `handle` is one of ours and its object exists.
bool decode(const void* handle, detail::HandleKind kind, Device& out) {
  const auto value =
      static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle));  // NOLINT
  if (value >> 48U != kTag || (value >> 44U & 0xFU) != static_cast<std::uint64_t>(kind)) {
    return false;
  }
  out.gpu = static_cast<std::uint32_t>(value >> 16U & 0xFFU);
  out.gpu_instance = byte_or_none(value >> 8U);
  out.compute_instance = byte_or_none(value);
  if (out.gpu >= out.state().gpu_count || !out.session.visible.shows(out.gpu)) return false;
  if (out.gpu_instance == kNone) return true;
  const auto generation = static_cast<std::uint32_t>(value >> 24U & 0xFFFFFU);
  const bool same = (generation_of(out.hardware(), out.gpu_instance, out.compute_instance) &
                     0xFFFFFU) == generation;
  if (!same || out.instance().used.load() == 0) return false;
  return out.compute_instance == kNone || out.compute().used.load() != 0;
}

}  // namespace

Session::~Session() {
  // A forked child has a copy of this, and not the slot.
  if (slot != nullptr && slot->self == current_self()) sim->release_slot(slot);
}

std::uint32_t Session::count() const {
  std::uint32_t count = 0;
  for (std::uint32_t gpu = 0; gpu < state().gpu_count; ++gpu) count += is_shown(gpu) ? 1 : 0;
  return count;
}

bool Session::is_shown(std::uint32_t gpu) const {
  return visible.shows(gpu) &&
         state().gpus[gpu].presence.load() != static_cast<std::uint32_t>(Presence::kGone);
}

std::optional<std::uint32_t> Session::gpu_at(std::uint32_t index) const {
  for (std::uint32_t gpu = 0; gpu < state().gpu_count; ++gpu) {
    if (is_shown(gpu) && index-- == 0) return gpu;
  }
  return std::nullopt;
}

std::uint32_t Session::index_of(std::uint32_t gpu) const {
  std::uint32_t index = 0;
  for (std::uint32_t before = 0; before < gpu; ++before) index += is_shown(before) ? 1 : 0;
  return index;
}

nvmlReturn_t initialise() {
  Library& lib = library();
  const std::scoped_lock lock(lib.mutex);
  if (lib.initialised == 0) {
    const nvmlReturn_t opened = open_session(lib.session);
    if (opened != NVML_SUCCESS) return opened;
  }
  ++lib.initialised;
  return NVML_SUCCESS;
}

nvmlReturn_t shut_down() {
  Library& lib = library();
  const std::scoped_lock lock(lib.mutex);
  if (lib.initialised == 0) return NVML_ERROR_UNINITIALIZED;
  // A call that still runs holds its own reference.
  if (--lib.initialised == 0) lib.session.reset();
  return NVML_SUCCESS;
}

std::shared_ptr<const Session> session() {
  Library& lib = library();
  const std::scoped_lock lock(lib.mutex);
  return lib.session;
}

nvmlDevice_t gpu_handle(std::uint32_t gpu) {
  return as_handle<nvmlDevice_t>(encode(detail::HandleKind::kDevice, 0, gpu, kNone, kNone));
}

nvmlDevice_t mig_handle(const State& state, std::uint32_t gpu, std::uint32_t gpu_instance,
                        std::uint32_t compute_instance) {
  const auto generation = generation_of(state.gpus[gpu], gpu_instance, compute_instance);
  return as_handle<nvmlDevice_t>(
      encode(detail::HandleKind::kDevice, generation, gpu, gpu_instance, compute_instance));
}

nvmlGpuInstance_t gpu_instance_handle(const State& state, std::uint32_t gpu,
                                      std::uint32_t gpu_instance) {
  const auto generation = generation_of(state.gpus[gpu], gpu_instance, kNone);
  return as_handle<nvmlGpuInstance_t>(
      encode(detail::HandleKind::kGpuInstance, generation, gpu, gpu_instance, kNone));
}

nvmlComputeInstance_t compute_instance_handle(const State& state, std::uint32_t gpu,
                                              std::uint32_t gpu_instance,
                                              std::uint32_t compute_instance) {
  const auto generation = generation_of(state.gpus[gpu], gpu_instance, compute_instance);
  return as_handle<nvmlComputeInstance_t>(encode(detail::HandleKind::kComputeInstance, generation,
                                                 gpu, gpu_instance, compute_instance));
}

nvmlReturn_t to_nvml(const Error& error) {
  switch (error.code) {
    case Code::kInvalidArgument:
      return NVML_ERROR_INVALID_ARGUMENT;
    case Code::kNotFound:
      return NVML_ERROR_NOT_FOUND;
    case Code::kFailedPrecondition:
      return NVML_ERROR_IN_USE;
    case Code::kUnavailable:
      return NVML_ERROR_INSUFFICIENT_RESOURCES;
    case Code::kUnsupported:
      return NVML_ERROR_NOT_SUPPORTED;
    default:
      return NVML_ERROR_UNKNOWN;
  }
}

nvmlReturn_t copy_text(std::string_view text, char* out, unsigned int length) {
  if (text.size() + 1 > length) return NVML_ERROR_INSUFFICIENT_SIZE;
  text.copy(out, text.size());
  out[text.size()] = '\0';
  return NVML_SUCCESS;
}

namespace detail {

nvmlReturn_t enter(const Session& session, std::string_view function) {
  if (const auto fault = meet_faults(*session.sim, function, kNone); fault != 0) {
    return static_cast<nvmlReturn_t>(fault);
  }
  return static_cast<nvmlReturn_t>(session.state().init_error.load(std::memory_order_relaxed));
}

nvmlReturn_t enter(const Session& session, std::string_view function, const void* handle,
                   HandleKind kind, Device& out, nvmlReturn_t& done) {
  if (!decode(handle, kind, out)) return NVML_ERROR_INVALID_ARGUMENT;
  std::uint32_t afterwards = 0;
  if (const auto fault = meet_faults(*session.sim, function, out.gpu, &afterwards); fault != 0) {
    return static_cast<nvmlReturn_t>(fault);
  }
  done = static_cast<nvmlReturn_t>(afterwards);
  if (const auto error = session.state().init_error.load(std::memory_order_relaxed); error != 0) {
    return static_cast<nvmlReturn_t>(error);
  }
  const auto presence = static_cast<Presence>(out.hardware().presence.load());
  return presence == Presence::kPresent ? NVML_SUCCESS : NVML_ERROR_GPU_IS_LOST;
}

}  // namespace detail
}  // namespace tranche::sim
