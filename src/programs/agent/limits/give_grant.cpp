#include "agent/limits/give_grant.h"

namespace tranche::agent {

Result<void> give(const offer::Grant& grant, Book& book, TenantManager* tenants) {
  TRY(book.reserve(grant));
  auto stored = tenants == nullptr ? Result<void>() : tenants->store(grant);
  if (stored) {
    book.commit(grant);
  } else {
    book.withdraw(grant);
  }
  return stored;
}

}  // namespace tranche::agent
