// SPDX-License-Identifier: Apache-2.0
// What can be done with a server.

export function serverActions() {
  return null;
}
