#include "sim/cuda/vram.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <tuple>

namespace tranche::sim::cuda {
namespace {

constexpr std::uint64_t kRoom = 4;  // times the device's memory

Result<OwnedFd> memory_file(const char* name, std::uint64_t size) {
  OwnedFd file(::memfd_create(name, MFD_CLOEXEC));
  if (file.get() < 0) return std::unexpected(errno_error(errno, "make a file in memory"));
  if (::ftruncate(file.get(), static_cast<off_t>(size)) != 0) {
    return std::unexpected(errno_error(errno, "extend a file in memory"));
  }
  return file;
}

}  // namespace

Result<Mapping> Mapping::map(int fd, std::uint64_t offset, std::uint64_t size) {
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                              static_cast<off_t>(offset));
  if (memory == MAP_FAILED) return std::unexpected(errno_error(errno, "map device memory"));
  // Not copied by fork for no use: a child cannot call the driver.
  std::ignore = ::madvise(memory, size, MADV_DONTFORK);
  std::ignore = ::madvise(memory, size, MADV_DONTDUMP);
  Mapping mapping;
  mapping.bytes_ = static_cast<std::byte*>(memory);
  mapping.size_ = size;
  return mapping;
}

Mapping::~Mapping() {
  if (bytes_ != nullptr) ::munmap(bytes_, size_);
}

Result<std::unique_ptr<Vram>> Vram::make(std::uint64_t bytes) {
  const std::uint64_t size = round_up(bytes * kRoom, kPage);
  ASSIGN_OR_RETURN(OwnedFd file, memory_file("tranche-sim-vram", size));
  ASSIGN_OR_RETURN(Mapping mapping, Mapping::map(file.get(), 0, size));
  return std::make_unique<Vram>(std::move(file), std::move(mapping));
}

std::byte* Vram::take(std::uint64_t size) {
  const auto place = places_.take(size, kPage);
  return place ? mapping_.bytes() + *place : nullptr;
}

void Vram::give(std::byte* bytes, std::uint64_t size) {
  const std::uint64_t place = offset_of(bytes);
  ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(place),
              static_cast<off_t>(size));
  places_.give(place, size);
}

Result<OwnedFd> make_shared_file(const SharedMemoryLabel& label) {
  ASSIGN_OR_RETURN(OwnedFd file, memory_file("tranche-sim-shared", label.size + sizeof label));
  TRY(write_label(file.get(), label));
  return file;
}

Result<void> write_label(int fd, const SharedMemoryLabel& label) {
  if (::pwrite(fd, &label, sizeof label, static_cast<off_t>(label.size)) ==
      static_cast<ssize_t>(sizeof label)) {
    return {};
  }
  return std::unexpected(errno_error(errno, "label shared memory"));
}

Result<SharedMemoryLabel> read_label(int fd) {
  struct stat info = {};
  SharedMemoryLabel label = {};
  if (::fstat(fd, &info) == 0 && info.st_size > static_cast<off_t>(sizeof label) &&
      ::pread(fd, &label, sizeof label, info.st_size - static_cast<off_t>(sizeof label)) ==
          static_cast<ssize_t>(sizeof label) &&
      label.magic == kSharedMemoryMagic &&
      label.size == static_cast<std::uint64_t>(info.st_size) - sizeof label) {
    return label;
  }
  return fail(Code::kInvalidArgument, "not memory of the simulated driver");
}

}  // namespace tranche::sim::cuda
