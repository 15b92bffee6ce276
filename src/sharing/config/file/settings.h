#pragma once
// The form between text and Config: each setting with the place that it comes from. read_file.h
// fills it from the file, and merge.h adds the other sources. Then it is validated (validate.h),
// printed (json.h) and made into a Config (settle.h). A setting that no source sets and that has no
// default in this program is absent ("null" in JSON).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/flags/setting.h"

namespace tranche::config {

struct FilePattern {
  ResourcePattern value;
  int line = 0;
};

struct FileResource {
  ResourceName name;
  std::optional<ResourceName> rename;  // as written
  Devices devices = AllDevices{};
  std::int64_t replicas = 0;
  int line = 0;          // line of the entry
  int rename_line = 0;   // 0: absent
  int devices_line = 0;  // 0: absent
  int replicas_line = 0;
};

// sharing.timeSlicing or sharing.mps as written.
struct FileSharing {
  bool rename_by_default = false;
  std::optional<bool> fail_requests_greater_than_one;
  std::vector<FileResource> resources;
  int line = 0;
};

// Limits as written, for one resource or (without a name) in general.
struct FileLimits {
  std::optional<ResourceName> name;
  std::optional<Enforcement> enforcement;
  std::optional<MemoryLimit> memory;
  std::optional<MemoryLimit> memory_hard;
  std::optional<ComputeLimit> compute;
  std::optional<bool> oversubscribe;
  std::optional<SharePolicy> policy;
  std::optional<Priority> priority;
  std::optional<Unregistered> unregistered;
  std::optional<bool> kernel_limits;
  std::optional<bool> runtime_hook;
  std::optional<std::vector<ClassOfPods>> priority_classes;
  int line = 0;              // line of the entry
  int memory_hard_line = 0;  // 0: absent
  int priority_line = 0;
  int priority_classes_line = 0;
  int kernel_limits_line = 0;
  int runtime_hook_line = 0;
};

// tranche.limits as written.
struct FileLimitTable {
  FileLimits general;
  std::vector<FileLimits> resources;
};

// tranche.mps as written.
struct FileMps {
  std::optional<int> protocol;
  std::optional<SmPartitions> sm_partitions;
  int line = 0;
  int sm_partitions_line = 0;  // 0: absent
};

struct Settings {
  std::string file_name;
  std::map<std::string, Setting, std::less<>> values;  // by setting_key()
  std::vector<FilePattern> gpus;
  std::vector<FilePattern> migs;
  std::optional<FileSharing> time_slicing;
  std::optional<FileSharing> mps;
  bool honor_ignored_fields = false;
  std::optional<OnChange> on_change;
  std::optional<FileLimitTable> limits;
  std::optional<FileMps> control;  // tranche.mps

  const Setting* find(std::string_view key) const;
  // The value under `key` if set; its type is that of the flag table.
  template <class T>
  const T* get(std::string_view key) const {
    const auto* setting = find(key);
    return setting == nullptr ? nullptr : &std::get<T>(setting->value);
  }
  // "file:3: flags.migStrategy", "environment MIG_STRATEGY", "flag --mig-strategy", or the key
  // alone.
  std::string where(std::string_view key) const;
};

// mps if present, else timeSlicing; nullptr if neither is.
const FileSharing* active_sharing(const Settings& settings);

}  // namespace tranche::config
