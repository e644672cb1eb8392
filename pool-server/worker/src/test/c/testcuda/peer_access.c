// SPDX-License-Identifier: Apache-2.0
// Peers: all devices are peers of each other.
#include "driver.h"

Result cuDeviceCanAccessPeer(int *out, int device, int peer) {
  *out = device != peer;
  return check_device(device) ? INVALID_DEVICE : check_device(peer);
}

Result cuDeviceGetP2PAttribute(int *out, int attribute, int device, int peer) {
  *out = 10 * attribute + peer;
  return device == peer ? INVALID_VALUE : SUCCESS;
}

static struct context *peer_of[MAX_DEVICES];

Result cuCtxEnablePeerAccess(struct context *peer, unsigned flags) {
  if (flags || peer == current) return INVALID_VALUE;
  if (peer_of[current->device] == peer) return 704;
  peer_of[current->device] = peer;
  return usable();
}

Result cuCtxDisablePeerAccess(struct context *peer) {
  if (peer_of[current->device] != peer) return 705;
  peer_of[current->device] = NULL;
  return usable();
}
