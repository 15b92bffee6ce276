# The filter that a user types, and a recording that somebody sent.
tranche_fuzz(top_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/top_fuzz.cpp LINK tranche_top_view tranche_top_source)
