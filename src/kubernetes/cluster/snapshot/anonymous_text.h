#pragma once
// Words for people without names: messages, reasons, expressions. A name that was learned becomes
// its alias, also where it is a part of a longer one ("team/train", "GPU-...::3"). Who else a text
// names is not known, so what may be a name becomes one too: all that is in quotes, and all that is
// not made of letters alone. These stay:
//
//   words          of letters; a few with hyphens that this system writes
//   numbers        with units, dates, versions of up to three numbers; no IP addresses
//   resources      and labels of Kubernetes', NVIDIA's and our domains: "nvidia.com/gpu"
//   hardware       models, MIG profiles, PCI addresses, our device names: "gpu-0"
//   learned words  Aliases::learn_word()

#include <string>
#include <string_view>

#include "cluster/snapshot/aliases.h"

namespace tranche::cluster {

std::string anonymous_text(std::string_view text, Aliases& aliases);

// "kubernetes.io", "nvidia.com", "tranche.dev" and what stands below them, and the domains of large
// clouds: their names and labels are public.
bool is_public_domain(std::string_view domain);
// "gpu-0", "gpu-0-mig-1g10gb-19-3": made of the GPU's number.
bool is_device_of_ours(std::string_view name);
// "matchLabels", "mig-enabled": letters and hyphens, as the keys of forms that programs read.
bool is_field_name(std::string_view key);
bool is_number(std::string_view text);
bool is_mig_name(std::string_view text);  // "1g.10gb+me", "all-1g.10gb", "all-balanced"

}  // namespace tranche::cluster
