#pragma once
// How a grant of the device plugin comes about: it is reserved in the book of holdings, stored with
// what its tenant is promised, and committed; or withdrawn, and the call of kubelet refused.

#include "agent/holdings/book.h"
#include "agent/limits/tenant_manager.h"
#include "base/result.h"
#include "offer/grant.h"

namespace tranche::agent {

// `tenants`: null where nothing is stored; then no resource with limits is offered. Called by
// gRPC's threads. The error reaches users by kubelet, as the message of the Pod that failed.
Result<void> give(const offer::Grant& grant, Book& book, TenantManager* tenants);

}  // namespace tranche::agent
