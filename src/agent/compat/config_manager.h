#pragma once
// The part of NVIDIA's config-manager: keeps a link (--config-file-dst) pointing at the file of
// --config-file-srcdir that the node's label names, and signals the process that reads it.
//
// Where theirs is wrong, ours is not: it never applies the default before it knows the label, a
// label that names no file keeps what is in force (theirs exits), the link is replaced in one step,
// and a changed content of the chosen file is signalled too.
//
// The label comes from TRANCHE_NODE_LABELS_FILE, a file of `key=value` lines; reading it from the
// API server needs the Kubernetes client, which this release does not have.

#include "config/flags/sources.h"

namespace tranche::agent {

// Exit code 0 after --oneshot or a signal; 1 when the configuration could not be applied.
int run_config_manager(const config::Sources& sources);

}  // namespace tranche::agent
