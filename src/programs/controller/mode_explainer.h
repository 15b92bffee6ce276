#pragma once
// Explains that a Pod waits because its share of a GPU is a claim, and no node is in mode dra any
// more: nothing will be allocated to it. Its claims cannot be taken out of a Pod, so somebody must
// delete it or put a node into that mode.

#include "controller/explainer.h"

namespace tranche::controller {

// Not where models are expected: their Pods wait for nodes to come.
Explainer mode_explainer();

}  // namespace tranche::controller
