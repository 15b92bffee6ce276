# What NVIDIA's MPS control daemon answers, and the file by which its supervisor tells the agent.
tranche_fuzz(mps_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/mps_fuzz.cpp LINK tranche_mps)
if(TARGET mps_fuzz)
  target_include_directories(mps_fuzz PRIVATE ${CMAKE_SOURCE_DIR}/tests)
endif()
