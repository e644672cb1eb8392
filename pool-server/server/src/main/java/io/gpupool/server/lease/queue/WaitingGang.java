// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.server.records.Gang;
import io.gpupool.server.records.GangKey;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The queued requests of one gang.
 *
 * @param name of the gang
 * @param size the number of its leases; the largest, if requests disagree
 * @param granted how many of them it has
 * @param requests in the order of the queue
 */
record WaitingGang(String name, int size, int granted, List<QueuedRequest> requests) {
  /**
   * Returns the gangs among queued requests.
   *
   * @param sorted in the order of the queue
   * @param granted how many leases gangs have
   */
  static Map<GangKey, WaitingGang> of(
      Collection<QueuedRequest> sorted, Map<GangKey, Integer> granted) {
    Map<GangKey, List<QueuedRequest>> requests = new HashMap<>();
    for (QueuedRequest request : sorted) {
      request
          .gang()
          .ifPresent(key -> requests.computeIfAbsent(key, k -> new ArrayList<>()).add(request));
    }
    Map<GangKey, WaitingGang> gangs = new HashMap<>();
    requests.forEach((key, all) ->
        gangs.put(key, new WaitingGang(key.name(), size(all), granted.getOrDefault(key, 0), all)));
    return gangs;
  }

  private static int size(List<QueuedRequest> requests) {
    return requests.stream()
        .flatMap(request -> Optional.ofNullable(request.spec().gang()).stream())
        .mapToInt(Gang::size)
        .max()
        .orElse(0);
  }

  /** Returns how many leases it has or asks for. */
  int members() {
    return granted + requests.size();
  }

  /** Returns whether it has all of its leases, so that what waits is scheduled by itself. */
  boolean isGranted() {
    return granted >= size;
  }

  boolean isComplete() {
    return members() >= size;
  }

  /** Returns the requests that are granted together. */
  List<QueuedRequest> together() {
    return requests.subList(0, size - granted);
  }

  /** Returns the requests beyond its size. */
  List<QueuedRequest> others() {
    return requests.subList(size - granted, requests.size());
  }

  /** Returns when the last of the requests came that are granted together. */
  long completeSinceNanos() {
    return together().stream().mapToLong(QueuedRequest::sinceNanos).max().orElseThrow();
  }
}
