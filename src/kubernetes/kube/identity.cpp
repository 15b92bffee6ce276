#include "kube/identity.h"

#include <algorithm>
#include <utility>

namespace tranche::kube {
namespace {

Result<void> check_tokens(const Identity& identity) {
  const auto is_allowed = [](char c) { return c > ' ' && c <= '~'; };
  if (std::ranges::all_of(identity.token + identity.proxied_token, is_allowed)) return {};
  return fail(Code::kInvalidArgument, "the token holds a space or a control character",
              "it must be one line as the API server issued it");
}

}  // namespace

Result<std::unique_ptr<IdentityReloader>> IdentityReloader::open(const Credentials& credentials) {
  std::unique_ptr<IdentityReloader> reloader(new IdentityReloader);
  Identity identity;
  const auto add = [&](std::string Identity::* field, const Secret& secret) {
    identity.*field = secret.text;
    if (!secret.file.empty()) reloader->sources_.push_back({field, RotatingFile(secret.file)});
  };
  add(&Identity::authority, credentials.authority);
  add(&Identity::certificate, credentials.certificate);
  add(&Identity::key, credentials.key);
  add(&Identity::token, credentials.token);
  add(&Identity::proxied_token, credentials.proxied_token);
  auto read = read_changed(reloader->sources_, identity);
  if (read) read = check_tokens(identity);
  if (!read) return std::unexpected(std::move(read).error().with_context(credentials.from));
  reloader->identity_ = std::make_shared<const Identity>(std::move(identity));
  return reloader;
}

Result<void> IdentityReloader::read_changed(std::vector<Source>& sources, Identity& identity) {
  for (auto& source : sources) {
    if (!source.file.changed()) continue;
    ASSIGN_OR_RETURN(identity.*source.field, source.file.read());
  }
  return {};
}

std::shared_ptr<const Identity> IdentityReloader::current() {
  std::vector<Source> sources;
  std::shared_ptr<const Identity> known;
  {
    const std::scoped_lock lock(mutex_);
    sources = sources_;
    known = identity_;
  }
  // Without the lock: a file on a slow disk must not delay other calls.
  const auto changed = [](const Source& source) { return source.file.changed(); };
  if (!std::ranges::any_of(sources, changed)) return known;
  auto identity = *known;
  if (!read_changed(sources, identity) || !check_tokens(identity)) return known;
  const std::scoped_lock lock(mutex_);
  if (identity_ != known) return identity_;  // another thread has read the files since
  sources_ = std::move(sources);
  if (identity != *known) identity_ = std::make_shared<const Identity>(std::move(identity));
  return identity_;
}

}  // namespace tranche::kube
