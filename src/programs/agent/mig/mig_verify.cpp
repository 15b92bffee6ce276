#include "agent/mig/mig_verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/hardware/leaving.h"
#include "agent/mig/mig_wish.h"
#include "agent/mps/mps_standing.h"
#include "agent/plugins/comparison.h"

namespace tranche::agent {
namespace {

bool is_on(const offer::ResourceOffer& resource, const mig::Layout& gpus) {
  return std::ranges::any_of(resource.devices, [&](const offer::Device& device) {
    return gpus.contains(gpu::GpuUuid{device.gpu_uuid});
  });
}

Result<void> verify_devices(const mig::Layout& layouts, const MigView& view) {
  for (const auto& [uuid, layout] : layouts) {
    const auto* gpu = gpu::find_gpu(view.machine(), uuid);
    if (gpu == nullptr || !shows(*gpu, layout)) {
      return fail(Code::kFailedPrecondition,
                  fmt::format("the driver does not list the new devices of GPU {}", uuid.value));
    }
    if (view.state.get<MigStanding>().changing.contains(uuid.value)) {
      return fail(Code::kFailedPrecondition, "the new devices are not advertised");
    }
  }
  return {};
}

// The change waits for a supervisor that is away: it starts the daemons when it is back.
Result<void> verify_mps(const MigNeighbours& neighbours, const State& state) {
  const auto& standings = state.get<MpsStandings>();
  for (const auto& resource : neighbours.served_after) {
    const auto found = standings.find({resource});
    if (found == standings.end() || found->second.trouble.empty()) continue;
    return fail(Code::kUnavailable,
                fmt::format("{} is not served by MPS again: {}", resource, found->second.trouble),
                std::string(kMpsRemedy));
  }
  return {};
}

// Checks only resources with a device of these GPUs, or whose daemon ended for them.
Result<void> verify_offered(const mig::Layout& layouts, const MigNeighbours& neighbours,
                            const offer::Offer& offer,
                            const cluster::AllocatableDevices& kubelets) {
  for (const auto& [name, served] : compare(ids_of(offer), kubelets)) {
    const auto* resource = offer.find({name});
    if (resource == nullptr || served.served == Served::kOurs) continue;
    if (!is_on(*resource, layouts) && !neighbours.resources.contains(name)) continue;
    return fail(Code::kFailedPrecondition,
                fmt::format("kubelet offers {} of {}, not the {} that there are", served.ids.size(),
                            name, served.ours));
  }
  return {};
}

}  // namespace

Result<void> verify(const mig::Journal& journal, const MigNeighbours& neighbours,
                    const MigView& view, cluster::PodResources& kubelet) {
  TRY(verify_devices(journal.to, view));
  TRY(verify_mps(neighbours, view.state));
  const auto given = kubelet.allocatable();
  if (given) return verify_offered(journal.to, neighbours, *view.offer, *given);
  // A kubelet too old to answer is assumed to have the list.
  if (given.error().code == Code::kFailedPrecondition) return {};
  return fail(Code::kUnavailable, given.error().what, given.error().hint);
}

}  // namespace tranche::agent
