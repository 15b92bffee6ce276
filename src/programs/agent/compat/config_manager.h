#pragma once
// Does what NVIDIA's config-manager does: keeps a link (--config-file-dst) pointing at the file of
// --config-file-srcdir that the node's label names, and signals the process that reads it.
//
// It differs from NVIDIA's where that one is wrong. It never applies the default before it knows
// the label. A label that names no file keeps the configuration in force (NVIDIA's exits). The link
// is replaced in one step. A changed content of the chosen file is signalled too.
//
// The label is read from the Node, or from TRANCHE_NODE_LABELS_FILE, a file of `key=value` lines,
// if that is set.

#include "config/flags/sources.h"

namespace tranche::agent {

// Exit code 0 after --oneshot or a signal; 1 when the configuration could not be applied.
int run_config_manager(const config::Sources& sources);

}  // namespace tranche::agent
