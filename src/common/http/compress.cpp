#include "http/compress.h"

#include "http/gzip.h"

namespace tranche::http {
namespace {

// Below this, the headers of a compressed answer cost what it saves.
constexpr std::size_t kCompressFrom = 1024;

}  // namespace

void compress(const Request& request, Response& response) {
  if (response.body.size() < kCompressFrom || !accepts_gzip(request.accept_encoding)) return;
  response.body = gzip(response.body);
  response.content_encoding = "gzip";
}

}  // namespace tranche::http
