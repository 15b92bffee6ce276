# The arbiter's status as the agent reads it.
tranche_fuzz(status_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/status_fuzz.cpp LINK tranche_limit)
if(TARGET status_fuzz)
  target_include_directories(status_fuzz PRIVATE ${CMAKE_SOURCE_DIR}/tests)
endif()
