// Arbitrary ids in Allocate and GetPreferredAllocation, arbitrary lines in the grant store. Input:
// one id a line; the first byte chooses what kind of resource is asked.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "offer/grant_maker.h"
#include "offer/grant_record.h"
#include "offer/make_offer.h"
#include "offer/preferred.h"
#include "support/machines.h"

namespace {

using namespace tranche;

offer::ResourceOffer resource(bool shared, bool mig) {
  std::vector<test::GpuBuilder> gpus = {test::a100_40gb(0), test::a100_40gb(1)};
  if (mig) {
    for (test::GpuBuilder& gpu : gpus) gpu.mig({"1g.5gb", "1g.5gb"});
  }
  config::Config config;
  config.flags.mig_strategy = config::MigStrategy::kSingle;
  config.sharing.time_slicing = config::ReplicatedResources{
      .resources = {{.name = {"nvidia.com/gpu"}, .replicas = shared ? 3 : 1}}};
  return offer::make_offer(test::machine_of(gpus), config, {}).resources.at(0);
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void require(bool holds) {
  if (!holds) std::abort();
}

void grant(const offer::ResourceOffer& offered, const std::vector<std::string>& ids) {
  offer::GrantOptions options;
  options.pass_device_specs = true;
  const auto made = offer::make_grant(offered, options, ids, "annotation");
  if (!made) return;
  require(made->ids == ids && !made->envs.at("NVIDIA_VISIBLE_DEVICES").empty());
  const auto read = offer::decode(offer::encode({*made, 1}));
  require(read && read->grant == *made);
}

void prefer(const offer::ResourceOffer& offered, const std::vector<std::string>& ids) {
  const std::size_t half = ids.size() / 2;
  offer::PreferredRequest request;
  request.available.assign(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(half / 2));
  request.must_include.assign(ids.begin() + static_cast<std::ptrdiff_t>(half), ids.end());
  request.size = static_cast<int>(half + 1);
  const auto preferred =
      offer::preferred_allocation(offered, nullptr, config::AllocationPolicy::kPacked, request);
  require(!preferred || preferred->ids.empty() || preferred->ids.size() == half + 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const offer::ResourceOffer kResources[] = {resource(false, false), resource(true, false),
                                                    resource(false, true), resource(true, true)};
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const offer::ResourceOffer& offered = kResources[data[0] % 4];
  const std::vector<std::string> ids = lines_of(text);
  for (const std::string& id : ids) {
    require(id.starts_with(offer::device_uuid_of(id)));
    require(offer::is_replica_id(id) == (offer::device_uuid_of(id).size() != id.size()));
  }
  grant(offered, ids);
  prefer(offered, ids);
  if (const auto record = offer::decode(text)) {
    require(offer::decode(offer::encode(*record)) == record);
  }
  return 0;
}
