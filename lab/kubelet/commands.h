#pragma once
// The stand-in's line protocol: one JSON object in, one out. See help_text() for the commands.
// {"ok": true, ...}, or {"ok": false, "error": "..."} for anything that did not work, an unreadable
// line included. A rejected pod is an answer like any other: ok, with its phase and reason.

#include <string>
#include <string_view>

#include "lab/kubelet/kubelet.h"

namespace tranche::lab {

std::string run_command(Kubelet& kubelet, std::string_view line);

// The commands with their fields, one a line.
std::string help_text();

}  // namespace tranche::lab
