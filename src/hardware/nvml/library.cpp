#include "nvml/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>

#include <array>

namespace tranche::nvml {
namespace {

enum class Need { kRequired, kOptional, kRecent };

FileStamp stamp_of(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .modified_ns = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

std::string path_of(void* handle) {
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map == nullptr) return {};
  return map->l_name;
}

template <class Signature>
bool look_up(void* handle, Function<Signature>& function) {
  function.pointer = reinterpret_cast<Signature*>(::dlsym(handle, function.name));
  return function.pointer != nullptr;
}

}  // namespace

std::string find_library(const std::filesystem::path& driver_root) {
  if (driver_root.empty() || driver_root == "/") return kSoname;
  static constexpr std::array kFolders = {
      "usr/lib64", "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu",
      "lib64",     "lib/x86_64-linux-gnu",     "lib/aarch64-linux-gnu"};
  for (const char* folder : kFolders) {
    std::error_code error;
    const auto real = std::filesystem::canonical(driver_root / folder / kSoname, error);
    if (!error) return real.string();
  }
  return kSoname;
}

Result<std::shared_ptr<const Library>> Library::load(const std::filesystem::path& driver_root) {
  const std::string file = find_library(driver_root);
  // RTLD_LOCAL keeps NVML's symbols out of the global scope.
  void* handle = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    return fail(Code::kUnavailable, fmt::format("cannot load {}: {}", file, ::dlerror()),
                "install the NVIDIA driver on this node, let the container see its libraries "
                "(runtime class nvidia), or mount the driver's root and name it with "
                "--driver-root-ctr-path");
  }
  // make_shared cannot call the private constructor.
  std::shared_ptr<Library> library(new Library(handle, driver_root, file));
  TRY(library->resolve());
  return library;
}

Result<void> Library::resolve() {
  path_ = path_of(handle_);
  stamp_ = stamp_of(path_);
  std::vector<std::string> absent;
  const auto take = [&](auto& function, Need need) {
    if (look_up(handle_, function)) return;
    if (need == Need::kRecent) return;
    (need == Need::kRequired ? absent : missing_).emplace_back(function.name);
  };
#define NVML_FUNCTION(need, name, arguments) take(api_.name, Need::need);
#include "nvml/functions.def"
#undef NVML_FUNCTION
  api_.nvmlErrorString =
      reinterpret_cast<const char* (*)(Return)>(::dlsym(handle_, "nvmlErrorString"));
  if (api_.nvmlInit_v2.pointer == nullptr && api_.nvmlInitWithFlags.pointer == nullptr) {
    absent.emplace_back("nvmlInit_v2");
  }
  if (absent.empty()) return {};
  return fail(Code::kUnavailable, fmt::format("{} lacks {}", path_, fmt::join(absent, ", ")),
              "it is too old or no NVML: install a supported NVIDIA driver (docs/hardware.md)");
}

Library::~Library() { ::dlclose(handle_); }

// A new driver may be in another folder, or may have replaced the old file.
bool Library::replaced() const {
  return find_library(driver_root_) != file_ || (!path_.empty() && stamp_of(path_) != stamp_);
}

std::string describe(const Api& api, const char* function, Return result) {
  const char* words = api.nvmlErrorString == nullptr ? nullptr : api.nvmlErrorString(result);
  return fmt::format("{} ({}: {})", words == nullptr ? "NVML error" : words, function, result);
}

}  // namespace tranche::nvml
