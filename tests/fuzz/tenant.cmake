# The arbiter's inputs from containers, and the limits that the agent writes for it.
tranche_fuzz(tenant_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/tenant_fuzz.cpp
             LINK tranche_tenant tranche_limit)
# The usage memory, which every process of a tenant may write.
tranche_fuzz(usage_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/usage_fuzz.cpp
             LINK tranche_tenant tranche_limit)
