#pragma once
// Like NVIDIA's config-manager, keeps a link (--config-file-dst) to the file in
// --config-file-srcdir that the node's label names, and signals the process that reads it.
//
// It corrects NVIDIA's: the default is never applied before the label is known; a label without a
// file keeps the configuration in force (NVIDIA's exits); the link is replaced atomically; changed
// content of the chosen file is signalled, too.
//
// The label comes from the Node or, if set, from TRANCHE_NODE_LABELS_FILE, a file of `key=value`
// lines.

#include "config/flags/sources.h"

namespace tranche::agent {

// Exit code 0 after --oneshot or a signal; 1 when the configuration could not be applied.
int run_config_manager(const config::Sources& sources);

}  // namespace tranche::agent
