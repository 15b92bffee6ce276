# Device ids as kubelet may send them.
tranche_fuzz(ids_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/ids_fuzz.cpp LINK tranche_offer)
if(TARGET ids_fuzz)
  target_include_directories(ids_fuzz PRIVATE ${CMAKE_SOURCE_DIR}/tests)
endif()
