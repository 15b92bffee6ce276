#include "tenant/sealed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "fmt/format.h"

namespace tranche::tenant {

namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
// Linux 6.3: the memory is never a program. Older headers and kernels do not know it.
constexpr unsigned kNoExecSeal = 0x0008U;  // MFD_NOEXEC_SEAL

Result<Descriptor> make(const char* name) {
  Descriptor fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | kNoExecSeal));
  if (!fd.is_open() && errno == EINVAL) {
    fd = Descriptor(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  }
  if (!fd.is_open()) return std::unexpected(errno_error(errno, "memfd_create"));
  return fd;
}

Result<void> seal(int fd, int seals) {
  if (fcntl(fd, F_ADD_SEALS, seals) == 0) return {};
  return fail(Code::kUnsupported,
              fmt::format("this kernel does not seal memory: {}", std::strerror(errno)),
              "Linux 5.1 or later is needed; without it a container could raise its own limits");
}

Error not_ours() {
  return {Code::kInvalidArgument, "what a process handed over is not its tenant's memory"};
}

}  // namespace

Result<SealedMemory> SealedMemory::map(Descriptor fd, std::size_t size) {
  struct stat status{};
  if (fstat(fd.get(), &status) != 0) return std::unexpected(errno_error(errno, "fstat of memory"));
  if (static_cast<std::size_t>(status.st_size) != size) return std::unexpected(not_ours());
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return std::unexpected(errno_error(errno, "mmap of a tenant's memory"));
  return SealedMemory(std::move(fd), data, size, {status.st_dev, status.st_ino});
}

Result<SealedMemory> SealedMemory::create(const char* name, std::size_t size, int seals) {
  ASSIGN_OR_RETURN(Descriptor fd, make(name));
  if (ftruncate(fd.get(), static_cast<off_t>(size)) != 0) {
    return std::unexpected(errno_error(errno, "size of a tenant's memory"));
  }
  ASSIGN_OR_RETURN(SealedMemory memory, map(std::move(fd), size));
  // After it is mapped: F_SEAL_FUTURE_WRITE only keeps older mappings writable.
  TRY(seal(memory.fd(), kSizeSeals | seals));
  return memory;
}

Result<SealedMemory> SealedMemory::take(ForeignDescriptor fd, const MemoryId& expected,
                                        std::size_t size) {
  // First of all, for only memory has seals, and no file system is asked for them.
  const int seals = fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals) return std::unexpected(not_ours());
  ASSIGN_OR_RETURN(SealedMemory memory, map(std::move(fd).trusted(), size));
  if (memory.id() != expected) return std::unexpected(not_ours());
  return memory;
}

SealedMemory::~SealedMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace tranche::tenant
