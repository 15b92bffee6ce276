#pragma once
// Opens the store of grants at the agent's start, and enters its grants in the book.

#include <memory>

#include "agent/context/context.h"
#include "agent/grants/grant_store.h"

namespace tranche::agent {

// The service context.grants. null: the stored grants are unreadable, which is logged.
std::unique_ptr<GrantStore> open_grants(const AgentContext& context);

}  // namespace tranche::agent
