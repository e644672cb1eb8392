// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.control.v1.LeaseRequest;

/**
 * A queued lease request as it is recorded for all servers of a cluster.
 *
 * @param number in the order in which they came
 * @param server at which its client waits
 * @param sinceMillis when it came, since 1970
 * @param message as it came, without its id
 * @param spec what it asks for
 */
public record QueueRecord(
    long number, String server, long sinceMillis, LeaseRequest message, LeaseSpec spec) {
  public QueueRecord at(String other) {
    return new QueueRecord(number, other, sinceMillis, message, spec);
  }
}
