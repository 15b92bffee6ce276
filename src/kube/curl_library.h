#pragma once
// libcurl, loaded when the first client is opened and not before: with it come some thirty other
// libraries, which would cost every start of the program 5 ms and some megabytes, also where no API
// server is asked for.

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

// The library, loaded and initialised once for the life of the process. Thread-safe. kUnsupported:
// it is missing or too old.
Result<const CurlLibrary*> load_curl();

// The same for those who come after a load_curl() that went well.
const CurlLibrary& curl();

}  // namespace tranche::kube
