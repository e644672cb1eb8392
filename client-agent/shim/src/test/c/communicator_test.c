// SPDX-License-Identifier: Apache-2.0
// NCCL's communicators: what the worker is sent for them, and what the program is told.
#include "collective_peer.h"

static void join_thatBlocks_waitsForAllRanks(void) {
  int ranks, rank, device;
  struct communicator *communicator = join();
  CHECK_OK(ncclTable.describe(communicator, &ranks, &rank, &device));
  CHECK(ranks == RANKS && rank == RANK && device == 0);
  pending = 3;
  CHECK_OK(ncclTable.destroy(communicator));
  settle();
  CHECK(pending == 0 && got.count == 1 && got.ops[0] == OP_communicatorEnd);
  CHECK_RESULT(NCCL_INVALID_ARGUMENT, ncclTable.destroy(communicator));
}

static void join_thatDoesNotBlock_isInProgress(void) {
  struct communicator *communicator;
  int error, ranks;
  peer.handler = handle;
  begin();
  progress = 2;
  CHECK_RESULT(NCCL_IN_PROGRESS, ncclTable.join(&communicator, RANKS, id, RANK, NCCL_NOT_BLOCKING));
  CHECK_RESULT(NCCL_INVALID_ARGUMENT, ncclTable.describe(communicator, &ranks, NULL, NULL));
  CHECK_OK(ncclTable.asyncError(communicator, &error));
  CHECK(error == NCCL_IN_PROGRESS);
  CHECK_OK(ncclTable.asyncError(communicator, &error));
  CHECK(error == NCCL_SUCCESS);
  CHECK_OK(ncclTable.describe(communicator, &ranks, NULL, NULL));
}

static void join_thatFails_endsWithTheServersText(void) {
  struct communicator *communicator;
  peer.handler = handle;
  begin();
  state = NCCL_REMOTE_ERROR;
  CHECK_RESULT(NCCL_REMOTE_ERROR, ncclTable.join(&communicator, RANKS, id, RANK, NCCL_BLOCKING));
  CHECK(!communicator && strcmp(ncclTable.lastError(NULL), "it is gone.") == 0);
  settle();
  CHECK(got.count == 3 && got.ops[1] == OP_communicatorAbort && got.ops[2] == OP_communicatorEnd);
}

static void split_withoutAColour_givesNoCommunicator(void) {
  struct communicator *parent = join(), *child = parent;
  progress = 1;
  CHECK_OK(ncclTable.split(parent, NCCL_NO_COLOUR, 0, &child, NCCL_INHERITED));
  settle();
  CHECK(!child && got.color == -1 && got.count == 2 && got.ops[1] == OP_communicatorEnd);
  CHECK_OK(ncclTable.split(parent, 3, -7, &child, NCCL_INHERITED));
  CHECK(child && child != parent && got.color == 3 && got.key == -7);
}

static void split_thatDoesNotBlock_isAskedForByItsParent(void) {
  struct communicator *parent = join(), *child = NULL;
  int error;
  progress = 1;
  CHECK_RESULT(NCCL_IN_PROGRESS, ncclTable.split(parent, 1, 0, &child, NCCL_NOT_BLOCKING));
  CHECK(child && child != parent);
  progress = 0;
  state = NCCL_IN_PROGRESS;
  CHECK_OK(ncclTable.asyncError(child, &error));
  CHECK(error == NCCL_IN_PROGRESS);
  CHECK_OK(ncclTable.asyncError(parent, &error));
  CHECK(error == NCCL_IN_PROGRESS);
  state = NCCL_SUCCESS;
  CHECK_OK(ncclTable.asyncError(parent, &error));
  CHECK(error == NCCL_SUCCESS);
  CHECK_OK(ncclTable.abort(child));
  settle();
  CHECK(got.count == 3 && got.ops[1] == OP_communicatorAbort && got.ops[2] == OP_communicatorEnd);
}

static void joinAll_ofDevicesThatAreNotThere_sendsNothing(void) {
  struct communicator *made[2];
  static const int devices[] = {0, 0};
  peer.handler = handle;
  begin();
  CHECK_RESULT(NCCL_INVALID_ARGUMENT, ncclTable.joinAll(made, 2, NULL, id));
  CHECK_RESULT(NCCL_INVALID_USAGE, ncclTable.joinAll(made, 2, devices, id));
  settle();
  CHECK(got.count == 0);
}

int main(void) {
  CASE(join_thatBlocks_waitsForAllRanks);
  CASE(join_thatDoesNotBlock_isInProgress);
  CASE(join_thatFails_endsWithTheServersText);
  CASE(split_withoutAColour_givesNoCommunicator);
  CASE(split_thatDoesNotBlock_isAskedForByItsParent);
  CASE(joinAll_ofDevicesThatAreNotThere_sendsNothing);
  return test_result();
}
