#pragma once
// The token that a client must show, which stands in a file (`Authorization: Bearer TOKEN`, RFC
// 6750, section 2.1). The file is read for every request that is checked: it is small, a new token
// counts at once, and no way to replace a file is missed (a Secret's files are links to a folder
// that is exchanged).
//
// A file that gives no token lets nobody in. While another process writes the file, the token
// before counts.
//
// Thread-safe. Holds no lock while it reads.

#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::http {

class BearerToken {
 public:
  // `file`: a path of `root`. It need not exist yet.
  BearerToken(FsRoot root, std::filesystem::path file)
      : root_(std::move(root)), file_(std::move(file)) {}

  // Success: a client with this header may come in. `authorization`: the header's value, empty if
  // it has none; the scheme is in any case. How long the comparison takes does not depend on how
  // much of a token is right.
  //
  // kPermission: the client may not. kFailedPrecondition: nobody may, because the file gives no
  // token: it cannot be read, is no regular file, is empty or above 4 KiB, has what a header cannot
  // carry, or is being written and was not read before. Each such reason is told once; until there
  // is another one, or a token was there meanwhile, what follows is kPermission.
  [[nodiscard]] Result<void> check(std::string_view authorization);

  static constexpr std::size_t kMaxBytes = 4096;

 private:
  Result<std::string> read();
  Result<void> refuse(Error reason);

  const FsRoot root_;
  const std::filesystem::path file_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::string last_;  // the last whole token; empty: none
  std::string said_;  // the last reason; empty: a token was there since
};

}  // namespace tranche::http
