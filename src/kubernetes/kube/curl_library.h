#pragma once
// Loads libcurl when the first client is opened. libcurl depends on about thirty other libraries.
// Linked, they would cost each start of the program 5 ms and a few megabytes, even without an API
// server.

#include <curl/curl.h>

#include "base/result.h"

namespace tranche::kube {

struct CurlLibrary {
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_reset) easy_reset;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_global_init) global_init;
  decltype(&curl_multi_add_handle) multi_add_handle;
  decltype(&curl_multi_cleanup) multi_cleanup;
  decltype(&curl_multi_info_read) multi_info_read;
  decltype(&curl_multi_init) multi_init;
  decltype(&curl_multi_perform) multi_perform;
  decltype(&curl_multi_poll) multi_poll;
  decltype(&curl_multi_remove_handle) multi_remove_handle;
  decltype(&curl_multi_wakeup) multi_wakeup;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
};

// Loads and initialises the library once; it stays loaded until the process ends. Thread-safe.
// kUnsupported: the library is missing or too old.
Result<const CurlLibrary*> load_curl();

// The loaded library. Call only after load_curl() has succeeded.
const CurlLibrary& curl();

}  // namespace tranche::kube
