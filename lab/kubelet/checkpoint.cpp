#include "lab/kubelet/checkpoint.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "lab/kubelet/json.h"

namespace tranche::lab {

using nlohmann::json;

namespace {

// Kubelet keeps ids by NUMA node; -1 is "none known".
constexpr const char* kNoNumaNode = "-1";

std::uint64_t checksum_of(const json& data) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : data.dump()) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return hash;
}

json entries_of(const Ledger& ledger) {
  json entries = json::array();
  for (const auto& [uid, pod] : ledger.pods())
    for (const auto& [container, holdings] : pod.containers)
      for (const auto& [resource, holding] : holdings)
        entries.push_back({{"PodUID", uid},
                           {"ContainerName", container},
                           {"ResourceName", resource},
                           {"DeviceIDs", {{kNoNumaNode, holding.ids}}},
                           {"AllocResp", to_json(holding.answer)}});
  return entries;
}

Checkpoint from_data(const json& data) {
  Checkpoint out{.ledger = {}, .registered = data.at("RegisteredDevices")};
  for (const json& pod : data.at("Pods")) out.ledger.add_pod(pod_from_json(pod));
  for (const json& entry : data.at("PodDeviceEntries"))
    out.ledger.insert(entry.at("PodUID"), entry.at("ContainerName"), entry.at("ResourceName"),
                      {.ids = entry.at("DeviceIDs").at(kNoNumaNode),
                       .answer = answer_from_json(entry.at("AllocResp"))});
  return out;
}

}  // namespace

std::string to_text(const Checkpoint& checkpoint) {
  json pods = json::array();
  for (const auto& [uid, entry] : checkpoint.ledger.pods()) pods.push_back(to_json(entry.pod));
  const json data = {{"PodDeviceEntries", entries_of(checkpoint.ledger)},
                     {"RegisteredDevices", checkpoint.registered},
                     {"Pods", std::move(pods)}};
  return json{{"Data", data}, {"Checksum", checksum_of(data)}}.dump();
}

Result<Checkpoint> parse_checkpoint(std::string_view text) {
  try {
    const json document = json::parse(text);
    const json& data = document.at("Data");
    if (document.at("Checksum").get<std::uint64_t>() != checksum_of(data))
      return fail(Code::kInvalidArgument, "checkpoint is corrupted: the checksum does not fit");
    return from_data(data);
  } catch (const std::exception& error) {
    return fail(Code::kInvalidArgument, fmt::format("checkpoint is corrupted: {}", error.what()));
  }
}

}  // namespace tranche::lab
