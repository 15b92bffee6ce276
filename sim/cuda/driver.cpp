#include "sim/cuda/driver.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "sim/cuda/constant.h"
#include "sim/state/faults.h"

namespace tranche::sim::cuda {

using namespace abi;  // NOLINT(google-build-using-namespace): see library.h

namespace {

// The only state of the library itself. Leaked: see driver.h.
std::atomic<Driver*> the_driver = nullptr;
std::atomic<bool> has_forked = false;  // from pthread_atfork
// In a page that the kernel empties in every copy of the process, however that was made (clone,
// _Fork): false there. nullptr: the driver was not made.
std::atomic<std::atomic<bool>*> is_own = nullptr;
std::mutex init_mutex;

bool is_forked() {
  const std::atomic<bool>* const own = is_own.load(std::memory_order_acquire);
  return has_forked.load(std::memory_order_relaxed) ||
         (own != nullptr && !own->load(std::memory_order_relaxed));
}

// If the kernel cannot clear it (before Linux 4.14), only pthread_atfork notifies.
void watch_for_forks() {
  constexpr std::size_t kPage = 4096;
  void* const page =
      ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  ::madvise(page, kPage, MADV_WIPEONFORK);
  is_own.store(new (page) std::atomic<bool>(true), std::memory_order_release);
}

// One machine for lookups before cuInit and for cuInit itself.
std::shared_ptr<Simulation> machine() {
  static std::mutex mutex;
  static auto& opened = *new std::shared_ptr<Simulation>;
  const std::scoped_lock lock(mutex);
  if (opened) return opened;
  auto sim = Simulation::open(options_from_environment());
  if (!sim) {
    std::fprintf(stderr, "libcuda (simulated): %s\n", sim.error().message().c_str());
    return nullptr;
  }
  return opened = *std::move(sim);
}

// What NVML would say of the driver, in the driver's words.
CUresult to_cuda(std::uint32_t nvml_error) {
  constexpr std::uint32_t kLibRmVersionMismatch = 18;
  if (nvml_error == 0) return CUDA_SUCCESS;
  return nvml_error == kLibRmVersionMismatch ? CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
                                             : CUDA_ERROR_NO_DEVICE;
}

// A client sees those of its server's devices that it may see.
CUresult join_mps(Driver& driver, std::vector<UseTarget>& targets) {
  const CUresult connected = driver.mps.connect(*driver.sim, driver.slot);
  if (connected != CUDA_SUCCESS || !driver.mps.is_client()) return connected;
  std::erase_if(targets, [&](const UseTarget& target) { return !driver.mps.has(target); });
  return targets.empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

// The default since CUDA 12.2.
bool loads_lazily(std::uint32_t cuda_version) {
  constexpr std::uint32_t kSince = 12020;
  const char* const text = std::getenv("CUDA_MODULE_LOADING");
  const std::string_view mode = text != nullptr ? text : "DEFAULT";
  if (mode == "EAGER" || mode == "LAZY") return mode == "LAZY";
  return cuda_version >= kSince;
}

CUresult make_driver(Driver*& out) {
  const auto sim = machine();
  if (!sim) return CUDA_ERROR_NO_DEVICE;
  if (const auto fault = meet_faults(*sim, "cuInit", kNone); fault != 0) {
    return static_cast<CUresult>(fault);
  }
  const CUresult state = to_cuda(sim->state().init_error.load());
  if (state != CUDA_SUCCESS) return state;
  auto targets = enumerate_devices(sim->state());
  if (targets.empty()) return CUDA_ERROR_NO_DEVICE;
  auto space = AddressSpace::make();
  auto slot = space ? sim->claim_slot("") : std::unexpected(space.error());
  if (!slot) {
    std::fprintf(stderr, "libcuda (simulated): %s\n", slot.error().message().c_str());
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  auto made = std::make_unique<Driver>(sim, **slot, *std::move(space));
  if (const CUresult joined = join_mps(*made, targets); joined != CUDA_SUCCESS) {
    sim->release_slot(*slot);
    return joined;
  }
  for (const UseTarget& target : targets) {
    const auto ordinal = static_cast<int>(made->devices.size());
    auto device = make_device({*sim, **slot, made->mps}, ordinal, target);
    if (!device) return CUDA_ERROR_OPERATING_SYSTEM;
    made->devices.push_back(std::move(device));
  }
  std::uint64_t gpus = 0;
  for (const UseTarget& target : targets) gpus |= std::uint64_t{1} << target.gpu;
  made->device_nodes = open_gpus(*sim, **slot, gpus);
  const char* const mode = std::getenv("TRANCHE_SIM_CUDA");
  detail::constant = mode != nullptr && std::string_view(mode) == "constant";
  made->loads_lazily = loads_lazily(sim->state().cuda_version);
  out = made.release();
  return CUDA_SUCCESS;
}

}  // namespace

Driver::Driver(std::shared_ptr<Simulation> simulation, ProcessSlot& process,
               std::unique_ptr<AddressSpace> addresses)
    : sim(std::move(simulation)),
      slot(process),
      clock(sim, slot),
      space(std::move(addresses)),
      executor(clock, mutex) {}

Device* Driver::device(int ordinal) const {
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= devices.size()) return nullptr;
  return devices[static_cast<std::size_t>(ordinal)].get();
}

CUresult Driver::current_context(ContextPtr& out) const {
  const auto& stack = context_stack();
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  out = contexts.find(stack.back());
  return out ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

Driver* driver() { return is_forked() ? nullptr : the_driver.load(std::memory_order_acquire); }

CUresult initialise() {
  if (is_forked()) return CUDA_ERROR_NOT_INITIALIZED;
  const std::scoped_lock lock(init_mutex);
  if (the_driver.load() != nullptr) return CUDA_SUCCESS;
  Driver* made = nullptr;
  const CUresult result = make_driver(made);
  if (result != CUDA_SUCCESS) return result;
  ::pthread_atfork(nullptr, nullptr, [] {
    has_forked.store(true);
    if (Driver* const parents = the_driver.load()) parents->mps.forget();
  });
  watch_for_forks();
  the_driver.store(made, std::memory_order_release);
  return CUDA_SUCCESS;
}

std::optional<std::uint32_t> machine_cuda_version() {
  const auto sim = machine();
  if (!sim) return std::nullopt;
  return sim->state().cuda_version;
}

std::vector<std::uint64_t>& context_stack() {
  thread_local std::vector<std::uint64_t> stack;
  return stack;
}

std::uint64_t thread_number() {
  static std::atomic<std::uint64_t> last = 0;
  thread_local const std::uint64_t own = ++last;
  return own;
}

StreamPtr make_default_stream(Driver& driver, const ContextPtr& context, bool legacy) {
  auto stream = std::make_shared<Stream>();
  stream->context = context;
  stream->is_legacy = legacy;
  stream->id = ++driver.last_id;
  return stream;
}

StreamPtr find_stream(Driver& driver, const ContextPtr& context, CUstream handle,
                      DefaultStream zero) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);  // NOLINT: a number, see handles.h
  constexpr std::uintptr_t kLegacyHandle = 1;
  constexpr std::uintptr_t kPerThreadHandle = 2;
  if (value > kPerThreadHandle) return driver.streams.find(handle);
  const bool per_thread =
      value == kPerThreadHandle || (value != kLegacyHandle && zero == DefaultStream::kPerThread);
  if (!per_thread) return context->legacy;
  StreamPtr& own = context->per_thread[thread_number()];
  if (!own) own = make_default_stream(driver, context, false);
  return own;
}

}  // namespace tranche::sim::cuda
