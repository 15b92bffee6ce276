#pragma once
// A worker: the process that has the GPU. It is this program again, as `tranche-load worker JSON`,
// so that what it is started with (its environment, a preloaded library) is its own.
//
// It speaks JSON, a line each, on standard output: {"ready": {...}} when its memory is taken and
// its kernels are there, or {"failed": "..."}; after a line on standard input it works; at the end
// {"report": {...}}. The end of standard input tells it to stop.

#include <string>

namespace tranche::load {

// Exit code: 0 when it could say how it went (however that was), 2 when `text` is no load.
int run_worker(const std::string& text);

}  // namespace tranche::load
