#pragma once
// One loaded libnvidia-ml.so.1 and its functions. Owns the dlopen handle: the library is unloaded
// with the last owner, so whoever may still be inside one of its functions holds a shared_ptr.
// Immutable after load, so it may be used from any thread.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "nvml/abi.h"

namespace tranche::nvml {

// A function of the library, with its name for messages; null when the library lacks it.
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

// Which file to load: the bare soname (the dynamic linker's search) when `driver_root` is empty or
// "/", else the first of usr/lib64, usr/lib/x86_64-linux-gnu, usr/lib/aarch64-linux-gnu, lib64,
// lib/x86_64-linux-gnu, lib/aarch64-linux-gnu under it that holds the library, links resolved; the
// bare soname again when none does. NVIDIA's plugin searches the same.
std::string find_library(const std::filesystem::path& driver_root);

// Which file a loaded library came from; another stamp under the same path means that the driver
// was replaced.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t modified_ns = 0;
  bool operator==(const FileStamp&) const = default;
};

class Library {
 public:
  // kUnavailable, with what to do, when there is no such library or it is no NVML.
  static Result<std::shared_ptr<const Library>> load(const std::filesystem::path& driver_root);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Api& api() const { return api_; }
  // Where it was found, as the dynamic linker says.
  const std::string& path() const { return path_; }
  // Optional functions that it does not have, less those that only recent drivers have.
  const std::vector<std::string>& missing() const { return missing_; }
  // Whether a load now would find another file than the one that was loaded.
  bool replaced() const;

 private:
  Library(void* handle, std::filesystem::path driver_root, std::string file)
      : handle_(handle), driver_root_(std::move(driver_root)), file_(std::move(file)) {}
  Result<void> resolve();

  void* handle_;
  Api api_;
  std::filesystem::path driver_root_;
  std::string file_;  // what was asked for: a path or the bare soname
  std::string path_;
  FileStamp stamp_;
  std::vector<std::string> missing_;
};

// "GPU is lost (nvmlDeviceGetName: 15)": in the library's words where it has some.
std::string describe(const Api& api, const char* function, Return result);

}  // namespace tranche::nvml
