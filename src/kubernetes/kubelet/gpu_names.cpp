#include "kubelet/gpu_names.h"

namespace tranche::kubelet {

std::string_view gpu_of_id(std::string_view id) {
  if (!id.starts_with("GPU-") && !id.starts_with("MIG-")) return {};
  return id.substr(0, id.find("::"));
}

std::string_view usual_resource(std::string_view resource) {
  return resource.starts_with(kMigResource) ? resource : kGpuResource;
}

}  // namespace tranche::kubelet
