#pragma once
// A worker is a process that uses the GPU. It is this program again, started as `tranche-load
// worker JSON`, so that it can have its own environment and its own preloaded library.
//
// It writes JSON to standard output, one object a line. When it has its memory and its kernels it
// writes {"ready": {...}}; if that fails, {"failed": "..."}. It starts to work after a line on
// standard input, and stops at the end of standard input. At the end it writes {"report": {...}}.

#include <string>

namespace tranche::load {

// `text`: a Load in JSON. Returns the exit code: 0: it has reported, whatever the result was; 2:
// `text` is not a Load.
int run_worker(const std::string& text);

}  // namespace tranche::load
