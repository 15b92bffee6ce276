#pragma once
// Loads OpenSSL when it is first needed. Linked as a shared library every start of the program
// would load its 6 MB, the probes that run each 10 s too; linked as an archive it is in the image
// twice, because libcurl (kube/curl_library.h) brings the shared one.
// (docs/decisions/0037-webhook.md)
//
// libevent's archive calls OpenSSL by its names, and so does this room. Each name of
// openssl_functions.def is here a function of one instruction: it jumps to where load_openssl()
// found OpenSSL's own. One that is called and not listed fails to link.

#include "base/result.h"

namespace tranche::http {

// Loads the library once; it stays loaded until the process ends. Thread-safe. To be called before
// any function of OpenSSL. kUnsupported: the library is missing, or lacks a function.
Result<void> load_openssl();

// A function that is not listed, for tests. nullptr: there is none, or nothing is loaded.
void* openssl_function(const char* name);

}  // namespace tranche::http
