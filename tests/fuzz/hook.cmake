# What the runtime's hook reads, and what it and the arbiter say to each other.
if(NOT TARGET tranche_hook)
  return()
endif()
tranche_fuzz(hook_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/hook_fuzz.cpp
             LINK tranche_hook tranche_limit)
