# The configuration that the agent keeps for a start without an API server.
tranche_fuzz(config_memory_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/config_memory_fuzz.cpp
             LINK tranche_agent_config)
if(TARGET config_memory_fuzz)
  target_include_directories(config_memory_fuzz PRIVATE ${CMAKE_SOURCE_DIR}/tests)
endif()
