#pragma once
// How programs get at the driver's functions: dlsym, dlvsym, dlmopen and cuGetProcAddress. In each
// the real one answers first; where something of ours stands before what it answered, the program
// gets that instead.
//
// The C library's three look at who calls them (RTLD_NEXT, an object's own search path). So each
// begins in a few instructions (trampolines.S) that look at the second argument alone and jump to
// the real one, with the caller's address where it was, unless it concerns us.

extern "C" {
// 1: answered here (lookup_*), 0: the real function is jumped to.
int tranche_is_our_symbol(const char* name);
int tranche_is_our_file(const char* file);
void* tranche_lookup_dlsym(void* handle, const char* name);
void* tranche_lookup_dlvsym(void* handle, const char* name, const char* version);
void* tranche_lookup_dlmopen(long space, const char* file, int mode);
extern void* tranche_real_dlsym;
extern void* tranche_real_dlvsym;
extern void* tranche_real_dlmopen;
}
