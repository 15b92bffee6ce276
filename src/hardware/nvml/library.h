#pragma once
// One loaded libnvidia-ml.so.1 and its functions. A Library owns the dlopen handle: the library is
// unloaded with the last owner. So a thread that calls one of its functions must hold a shared_ptr.
// A Library does not change after load, so any thread may use it.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "nvml/abi.h"

namespace tranche::nvml {

// A function of the library, with its name for messages. pointer is null if the library lacks it.
template <class Signature>
struct Function {
  const char* name;
  Signature* pointer = nullptr;
};

struct Api {
#define NVML_FUNCTION(need, name, arguments) Function<Return arguments> name{#name};
#include "nvml/functions.def"
#undef NVML_FUNCTION
  const char* (*nvmlErrorString)(Return) = nullptr;
};

inline constexpr const char* kSoname = "libnvidia-ml.so.1";

// The file to load. If `driver_root` is empty or "/": the bare soname, which the dynamic linker
// searches. Otherwise the library, with links resolved, from the first of these folders under
// `driver_root` that has it: usr/lib64, usr/lib/x86_64-linux-gnu, usr/lib/aarch64-linux-gnu, lib64,
// lib/x86_64-linux-gnu, lib/aarch64-linux-gnu. If none has it: the bare soname. NVIDIA's plugin
// searches the same folders.
std::string find_library(const std::filesystem::path& driver_root);

// Identifies the file of a loaded library. If its path later has another stamp, the driver was
// replaced.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t modified_ns = 0;
  bool operator==(const FileStamp&) const = default;
};

class Library {
 public:
  // kUnavailable, with what to do: there is no such library, or it is not NVML.
  static Result<std::shared_ptr<const Library>> load(const std::filesystem::path& driver_root);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Api& api() const { return api_; }
  // The path from which the dynamic linker loaded it.
  const std::string& path() const { return path_; }
  // Optional functions that the library lacks, except those that only recent drivers have.
  const std::vector<std::string>& missing() const { return missing_; }
  // Whether loading now would find a different file.
  bool replaced() const;

 private:
  Library(void* handle, std::filesystem::path driver_root, std::string file)
      : handle_(handle), driver_root_(std::move(driver_root)), file_(std::move(file)) {}
  Result<void> resolve();

  void* handle_;
  Api api_;
  std::filesystem::path driver_root_;
  std::string file_;  // passed to dlopen: a path or the bare soname
  std::string path_;
  FileStamp stamp_;
  std::vector<std::string> missing_;
};

// "GPU is lost (nvmlDeviceGetName: 15)". The text is nvmlErrorString's if the library has it.
std::string describe(const Api& api, const char* function, Return result);

}  // namespace tranche::nvml
