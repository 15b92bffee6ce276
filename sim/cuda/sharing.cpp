// Memory of other processes: cuIpc handles of allocations, and imported external memory.
//
// A cuIpc handle names the exporting process and its file of device memory; it is opened through
// /proc, so both must be of one user and one pid namespace, as with the real driver. The exporter
// is charged for the memory, and its bytes live while any process has them mapped. (The driver does
// not specify what happens if it is freed before they are closed.) Imported memory is held by its
// importer as by its creator.

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "fmt/format.h"
#include "sim/cuda/capture.h"
#include "sim/cuda/memory.h"
#include "sim/cuda/virtual_memory.h"

namespace tranche::sim::cuda {

struct ExternalMemory {
  std::uint64_t number = 0;
  std::shared_ptr<Block> block;
};

namespace {

// What the 64 bytes of a cuIpc handle hold.
struct IpcHandle {
  std::uint64_t magic;
  std::uint64_t state;   // inode of the machine's state
  std::uint64_t offset;  // of the allocation in the file
  std::uint64_t size;
  std::uint32_t pid;
  std::int32_t file;  // descriptor in that process
  std::uint32_t gpu;
  std::uint32_t gpu_instance;
  std::uint32_t compute_instance;
  std::uint32_t within_page;  // where the allocation begins in its first page
};
constexpr std::uint64_t kIpcMagic = 0x4350494D49534E54;  // "TNSIMIPC"
static_assert(sizeof(IpcHandle) <= sizeof(CUipcMemHandle));

// What another process can map: whole pages around the allocation.
IpcHandle describe(const Range& range) {
  const Device& device = *range.device;
  const std::uint64_t offset = device.vram->offset_of(range.piece.bytes());
  const std::uint64_t within = offset % kPage;
  return {.magic = kIpcMagic,
          .state = device.label(0).state,
          .offset = offset - within,
          .size = range.size,
          .pid = static_cast<std::uint32_t>(::getpid()),
          .file = device.vram->file(),
          .gpu = device.target.gpu,
          .gpu_instance = device.target.gpu_instance,
          .compute_instance = device.target.compute_instance,
          .within_page = static_cast<std::uint32_t>(within)};
}

CUresult open_handle(const char* name, CUdeviceptr* out, const CUipcMemHandle& raw,
                     unsigned flags) {
  const bool arguments = given(out) && flags <= CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
  return on_context(name, arguments, [&](Call& call, Context&) {
    IpcHandle handle = {};
    std::memcpy(&handle, raw.reserved, sizeof handle);
    if (handle.magic != kIpcMagic) return CUDA_ERROR_INVALID_VALUE;
    if (handle.pid == static_cast<std::uint32_t>(::getpid())) return CUDA_ERROR_INVALID_CONTEXT;
    Device* const device = device_of(call.driver, {.gpu = handle.gpu,
                                                   .gpu_instance = handle.gpu_instance,
                                                   .compute_instance = handle.compute_instance,
                                                   .state = handle.state});
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    const std::string path = fmt::format("/proc/{}/fd/{}", handle.pid, handle.file);
    OwnedFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (file.get() < 0) return CUDA_ERROR_MAP_FAILED;
    const std::uint64_t pages = round_up(handle.within_page + handle.size, kPage);
    auto block = Block::open(*device, std::move(file), handle.offset, pages);
    const auto address = block ? call.driver.space->reserve(pages, kPage, 0) : std::nullopt;
    if (!address) return CUDA_ERROR_MAP_FAILED;
    *out = *address + handle.within_page;
    call.driver.space->add({.base = *out,
                            .size = handle.size,
                            .kind = RangeKind::kImported,
                            .device = device,
                            .context = call.context,
                            .piece = {.block = std::move(block),
                                      .offset = handle.within_page,
                                      .address = *address,
                                      .size = pages}});
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUDA_API CUresult cuIpcGetMemHandle(CUipcMemHandle* out, CUdeviceptr address) {
  return on_context(__func__, given(out), [&](Call& call, Context&) {
    const Range* const range = call.driver.space->find(address);
    if (range == nullptr || range->kind != RangeKind::kAllocated) return CUDA_ERROR_INVALID_VALUE;
    const IpcHandle handle = describe(*range);
    *out = {};
    std::memcpy(out->reserved, &handle, sizeof handle);
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuIpcOpenMemHandle(CUdeviceptr* out, CUipcMemHandle handle, unsigned flags) {
  return open_handle(__func__, out, handle, flags);
}
CUDA_API CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* out, CUipcMemHandle handle, unsigned flags) {
  return open_handle(__func__, out, handle, flags);
}
CUDA_API CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  return on_context(__func__, true, [&](Call& call, Context& context) {
    const auto opened = [&] {
      Range* const range = call.driver.space->find(address);
      const bool good =
          range != nullptr && range->base == address && range->kind == RangeKind::kImported;
      return good ? range : nullptr;
    };
    if (opened() == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult done = synchronize(call, context); done != CUDA_SUCCESS) return done;
    const Range* const range = opened();
    if (range == nullptr) return CUDA_ERROR_INVALID_VALUE;
    call.driver.space->release(range->piece.address, range->piece.size);
    call.driver.space->erase(address);
    return CUDA_SUCCESS;
  });
}

// Descriptors that cuMemExportToShareableHandle gave; there is no other external memory here. An
// import that succeeds takes the descriptor.
CUDA_API CUresult cuImportExternalMemory(CUexternalMemory* out,
                                         const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* description) {
  return on_context(__func__, given(out, description), [&](Call& call, Context&) {
    if (description->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    const auto label = read_label(description->handle.fd);
    if (!label || description->size > label->size) return CUDA_ERROR_INVALID_VALUE;
    Device* const device = device_of(call.driver, *label);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    auto memory = std::make_shared<ExternalMemory>();
    memory->block = Block::import(
        *device, OwnedFd(::fcntl(description->handle.fd, F_DUPFD_CLOEXEC, 0)), *label);
    if (!memory->block) return CUDA_ERROR_OUT_OF_MEMORY;
    ::close(description->handle.fd);
    *out = handle_of<CUexternalMemory>(*call.driver.external_memories.add(std::move(memory)));
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr* out, CUexternalMemory handle,
                                                  const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* wanted) {
  return on_context(__func__, given(out, wanted), [&](Call& call, Context&) {
    const auto memory = call.driver.external_memories.find(handle);
    if (!memory) return CUDA_ERROR_INVALID_HANDLE;
    const bool fits = wanted->size > 0 && wanted->offset <= memory->block->size() &&
                      wanted->size <= memory->block->size() - wanted->offset;
    if (!fits) return CUDA_ERROR_INVALID_VALUE;
    const auto address = call.driver.space->reserve(round_up(wanted->size, kPage), kPage, 0);
    if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
    call.driver.space->add({.base = *address,
                            .size = wanted->size,
                            .kind = RangeKind::kExternal,
                            .device = &memory->block->device(),
                            .context = call.context,
                            .piece = {.block = memory->block,
                                      .offset = wanted->offset,
                                      .address = *address,
                                      .size = wanted->size}});
    *out = *address;
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuDestroyExternalMemory(CUexternalMemory handle) {
  return on_context(__func__, true, [&](Call& call, Context&) {
    const auto memory = call.driver.external_memories.find(handle);
    if (!memory) return CUDA_ERROR_INVALID_HANDLE;
    call.driver.external_memories.erase(*memory);
    return CUDA_SUCCESS;
  });
}

}  // namespace tranche::sim::cuda
