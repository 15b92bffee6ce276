// Uses only NVML, by functions that it is linked with.
#include "cuda_calls.h"

int main() { std::printf("%llu\n", nvml_memory().total / kMiB); }
