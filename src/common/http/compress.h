#pragma once
// Compresses an answer for clients that take it. Pure; thread-safe.

#include "http/server.h"

namespace tranche::http {

// With gzip, if the client takes that and the body is so long that it pays.
void compress(const Request& request, Response& response);

}  // namespace tranche::http
