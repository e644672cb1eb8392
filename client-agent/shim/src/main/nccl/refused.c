// SPDX-License-Identifier: Apache-2.0
// The functions that gpupool does not have: they answer with an error, or, where they have none to give, with nothing.
// Whatever arguments they are called with, none is looked at.
#include "nccl_library.h"

#define IMPLEMENTED(name, note)
#define REFUSED(name, reason)                   \
  OWN(ncclResult_t, name, void) {               \
    static _Atomic int told;                    \
    return library_refuse(#name, reason, &told); \
  }
#include "functions.inc"

// Of other types

static void tell(const char *function) {
  static _Atomic int told;
  library_refuse(function, "communication by kernels", &told);
}

OWN(ncclTeam_t, ncclTeamWorld, ncclComm_t comm) {
  (void)comm;
  tell("ncclTeamWorld");
  return (ncclTeam_t){0};
}

OWN(ncclTeam_t, ncclTeamLsa, ncclComm_t comm) {
  (void)comm;
  tell("ncclTeamLsa");
  return (ncclTeam_t){0};
}

OWN(ncclTeam_t, ncclTeamRail, ncclComm_t comm) {
  (void)comm;
  tell("ncclTeamRail");
  return (ncclTeam_t){0};
}

OWN(int, ncclTeamRankToWorld, ncclComm_t comm, ncclTeam_t team, int rank) {
  (void)comm, (void)team, (void)rank;
  tell("ncclTeamRankToWorld");
  return -1;
}

OWN(int, ncclTeamRankToLsa, ncclComm_t comm, ncclTeam_t team, int rank) {
  (void)comm, (void)team, (void)rank;
  tell("ncclTeamRankToLsa");
  return -1;
}

OWN(int, ncclLLA2ACalcSlots, int maxElts, int maxEltSize) {
  (void)maxElts, (void)maxEltSize;
  tell("ncclLLA2ACalcSlots");
  return 0;
}

// GPUPOOL_LOG says what is written, and is read once.

OWN(void, ncclResetDebugInit, void) {}

OWN(void, ncclResetDebugInitInternal, void) {}

OWN(void, ncclParamDumpAll, void) {}
