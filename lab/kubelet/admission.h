#pragma once
// Admission of a Pod as kubelet's device manager does it: container by container, init containers
// first, whose devices the app containers take over; the plugin is asked which devices it prefers
// and then for each container what it needs; every answer is stored before the container starts.
//
// One Pod at a time, as in kubelet; thread-safe. A rejected Pod holds nothing afterwards and is
// never retried: its controller makes another.

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "lab/kubelet/device_table.h"

namespace tranche::lab {

class Admission {
 public:
  // Writes the checkpoint.
  using Save = std::function<Result<void>()>;

  Admission(DeviceTable& table, Save save);

  // A known Pod gets what it has, and no plugin is asked.
  PodStatus admit(const Pod& pod);
  // The container ended and starts again: the stored answer, after PreStartContainer if required.
  Result<ContainerHoldings> restart_container(const std::string& pod_uid,
                                              const std::string& container);
  // kNotFound when there is no such pod.
  Result<void> remove(const std::string& pod_uid);

 private:
  using Reusable = std::map<std::string, IdSet>;

  Result<void> allocate_pod(const Pod& pod);
  Result<void> allocate_container(const Pod& pod, const Container& container,
                                  const Reusable& reusable);
  Result<Ids> choose_devices(const std::string& resource, int count, const IdSet& reusable);
  // Calls PreStartContainer if the plugin wants it.
  Result<void> before_start(const ContainerHoldings& holdings);
  PodStatus start(const std::string& pod_uid);

  DeviceTable& table_;
  const Save save_;
  std::mutex one_at_a_time_;
};

}  // namespace tranche::lab
