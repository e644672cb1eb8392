// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.control.v1.LeaseRequest;

/**
 * A request for a lease that waits, as all servers of a pool see it.
 *
 * @param number in the order in which they came
 * @param server at which its client waits
 * @param sinceMillis when it came, since 1970
 * @param message as it came, without its id
 * @param request what it asks for
 */
public record WaitingRequest(
    long number, String server, long sinceMillis, LeaseRequest message, LeaseSpec request) {
  public WaitingRequest at(String other) {
    return new WaitingRequest(number, other, sinceMillis, message, request);
  }
}
