#pragma once
// The stand-in's values as JSON, for its checkpoint and its line protocol. Field names are those of
// the device plugin messages. Reading functions throw nlohmann::json exceptions: callers parse
// whole documents and catch once.

#include <nlohmann/json.hpp>

#include "lab/kubelet/types.h"

namespace tranche::lab {

nlohmann::json to_json(const Answer& answer);
nlohmann::json to_json(const ContainerHoldings& holdings);
nlohmann::json to_json(const Pod& pod);
nlohmann::json to_json(const Device& device);

Answer answer_from_json(const nlohmann::json& json);
// {"pod": name, "namespace", "uid", "containers": [{"name", "limits": {resource: count}}],
// "init_containers": [...]}; only "pod" and "containers" are required.
Pod pod_from_json(const nlohmann::json& json);

}  // namespace tranche::lab
