#pragma once
// Handles forks. A child of the program starts afresh: it has no registration, no thread of ours,
// and no driver until it initialises one. It inherits its parent's state: the slot in which the
// parent's memory is counted, and locks that threads may have held which do not exist in the child.
//
// fork() notifies us. _Fork(), a program's own clone() and what older C libraries use for vfork()
// do not, so a page records whether its process is the one that wrote it: the kernel clears it in
// every copy of the memory (MADV_WIPEONFORK, Linux 4.14). A child that shares its parent's memory
// (vfork) shares the state too, and until it calls exec it is that process as far as CUDA is
// concerned.

namespace tranche::interpose {

// Starts watching: called when there is state for the first time that a child must not reuse.
// Programs that use no GPU are not watched. Later calls do nothing.
void watch_for_forks();

// In a child created without notification: forgets the parent's state. Otherwise costs two loads.
// For state lookups, where time is less critical than in a launch.
void begin_anew_if_forked();

// Forgets all of the parent's state (begin_anew.cpp). For the two above.
void begin_anew();

}  // namespace tranche::interpose
