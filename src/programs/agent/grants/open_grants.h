#pragma once
// Opens the store of grants for an agent that starts, and enters what is in it in the book.

#include <memory>

#include "agent/context/context.h"
#include "agent/grants/grant_store.h"

namespace tranche::agent {

// The service context.grants. null: the stored grants cannot be read; it is logged.
std::unique_ptr<GrantStore> open_grants(const AgentContext& context);

}  // namespace tranche::agent
