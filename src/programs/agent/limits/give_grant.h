#pragma once
// The life of a device plugin's grant: reserved in the book, stored with its tenant's promise, and
// committed; or withdrawn, and kubelet's call refused.

#include "agent/holdings/book.h"
#include "agent/limits/tenant_manager.h"
#include "base/result.h"
#include "offer/grant.h"

namespace tranche::agent {

// `tenants`: null where nothing is stored; then no resource with limits is offered. Called by gRPC
// threads. Kubelet passes the error on to users, as the message of the failed Pod.
Result<void> give(const offer::Grant& grant, Book& book, TenantManager* tenants);

}  // namespace tranche::agent
