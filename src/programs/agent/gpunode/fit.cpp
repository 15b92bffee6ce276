#include "agent/gpunode/fit.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace tranche::agent {
namespace {

using Status = cluster::GpuNodeStatus;

// A list of the status: its length, and the status with at most a given number of its entries.
struct List {
  std::size_t size = 0;
  std::function<Status(Status, std::size_t keep)> cut;
};

template <class T>
List list_of(const Status& status, std::vector<T> Status::* list,
             std::int64_t cluster::GpuNodeTruncated::* count) {
  const auto size = (status.*list).size();
  return {.size = size, .cut = [list, count, size](Status cut, std::size_t keep) {
            (cut.*list).resize(keep);
            cut.truncated.*count = static_cast<std::int64_t>(size - keep);
            return cut;
          }};
}

List devices_of(const Status& status) {
  std::size_t size = 0;
  for (const auto& resource : status.resources) size += resource.devices.size();
  return {.size = size, .cut = [size](Status cut, std::size_t keep) {
            cut.truncated.devices = static_cast<std::int64_t>(size - keep);
            for (auto& resource : cut.resources) {
              const auto kept = std::min(keep, resource.devices.size());
              resource.devices.resize(kept);
              keep -= kept;
            }
            return cut;
          }};
}

// The instances of a number of GPUs: a GPU has all of its instances or none.
List instances_of_gpus(const Status& status) {
  return {.size = status.gpus.size(), .cut = [](Status cut, std::size_t keep) {
            for (auto i = keep; i < cut.gpus.size(); ++i) {
              auto& instances = cut.gpus[i].instances;
              if (!instances || instances->empty()) continue;
              cut.truncated.instances += static_cast<std::int64_t>(instances->size());
              instances.reset();
            }
            return cut;
          }};
}

bool fits(const Status& status, std::size_t most) { return to_json(status).size() <= most; }

// The most entries with which the status fits; 0 where it never does.
Status cut_down(const Status& status, const List& list, std::size_t most) {
  std::size_t fitting = 0;
  std::size_t too_many = list.size;
  while (fitting + 1 < too_many) {
    const auto middle = fitting + (too_many - fitting) / 2;
    (fits(list.cut(status, middle), most) ? fitting : too_many) = middle;
  }
  return list.cut(status, fitting);
}

}  // namespace

Status fit(Status status, std::size_t most) {
  using Truncated = cluster::GpuNodeTruncated;
  const std::vector<std::function<List(const Status&)>> lists = {
      [](const auto& s) { return list_of(s, &Status::holdings, &Truncated::holdings); },
      [](const auto& s) { return list_of(s, &Status::links, &Truncated::links); },
      devices_of,
      [](const auto& s) { return list_of(s, &Status::withheld, &Truncated::withheld); },
      [](const auto& s) { return list_of(s, &Status::reasons, &Truncated::reasons); },
      instances_of_gpus,
      [](const auto& s) { return list_of(s, &Status::gpus, &Truncated::gpus); },
      [](const auto& s) { return list_of(s, &Status::resources, &Truncated::resources); },
  };
  for (const auto& list : lists) {
    if (fits(status, most)) break;
    status = cut_down(status, list(status), most);
  }
  return status;
}

}  // namespace tranche::agent
