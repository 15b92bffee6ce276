/* A library that loads well and has nothing of NVML (library_test.cpp). */
int tranche_not_nvml(void);
int tranche_not_nvml(void) { return 0; }
