#pragma once
// A child of the program begins anew: it has no registration, no thread of ours, and no driver
// until it makes one. What it finds is its parent's: the slot in which the parent's memory is
// counted, and locks that threads may have held which it does not have.
//
// fork() tells us. _Fork(), a program's own clone() and what older C libraries do in vfork()'s
// place do not, so a page says whether its process is the one that wrote it: the kernel empties it
// in every copy of the memory (MADV_WIPEONFORK, Linux 4.14). A child that shares its parent's
// memory (vfork) shares the state too, and until it has called exec it is that process as far as
// CUDA goes.

namespace tranche::interpose {

// From now on: called when there is something for the first time that a child must not go on with.
// Programs that use no GPU are not watched. Once; later calls do nothing.
void watch_for_forks();

// In a child that nobody told of: forgets what was its parent's. Otherwise it takes two loads. For
// where state is looked up, and time matters less than in a launch.
void begin_anew_if_forked();

// Forgets what was the parent's, all of it (begin_anew.cpp). For the two above.
void begin_anew();

}  // namespace tranche::interpose
