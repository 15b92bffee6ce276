#pragma once
// Loads OpenSSL when it is first needed. Linked as a shared library, its 6 MB would be loaded at
// every start of the program, including the probes that run every 10 s. Linked as an archive it
// would be in the image twice, because libcurl (kube/curl_library.h) brings the shared one.
// (docs/decisions/0037-webhook.md)
//
// libevent's archive calls OpenSSL by its symbol names, and so does this room. Each name in
// openssl_functions.def is here a function of one instruction: it jumps to the address that
// load_openssl() found. A function that is called but not listed fails to link.

#include "base/result.h"

namespace tranche::http {

// Loads the library once; it stays loaded until the process ends. Thread-safe. Must be called
// before any OpenSSL function. kUnsupported: the library is missing, or lacks a function.
Result<void> load_openssl();

// An unlisted function, for tests. nullptr: there is none, or the library is not loaded.
void* openssl_function(const char* name);

}  // namespace tranche::http
