// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The exact request of a pod. It is written as JSON in the annotation {@link Names#REQUEST}:
 *
 * <pre>{"containers":{"main":{"gpus":1,"fraction":0.5,"computePercent":30}},
 *  "select":{"model":"*H100*"},"priority":5,"class":"latency","resumeWindowMillis":60000,
 *  "gang":{"name":"train","size":2}}</pre>
 *
 * with {@code memoryBytes} in place of {@code fraction} if memory is asked for; what is not asked
 * for is left out.
 *
 * @param containers by name, in the order of the pod; those that ask for nothing are missing
 * @param select selectors of GPUs, as in the pool's lease requests
 * @param priority order in the queue, -1000 to 1000: larger is sooner
 * @param leaseClass how the programs use a GPU's time
 * @param resumeWindowMillis how long the programs outlive a broken connection; 0: not at all; null:
 *     as long as is usual
 * @param gang the gang with which the pod gets its lease; null: it gets it by itself
 */
public record PodRequest(
    Map<String, GpuRequest> containers,
    Map<String, String> select,
    int priority,
    LeaseClass leaseClass,
    @Nullable Long resumeWindowMillis,
    @Nullable PodGang gang) {
  public static final PodRequest NOTHING = new PodRequest(Map.of(), Map.of(), 0);
  public static final int MAX_PRIORITY = 1000;
  public static final long MAX_RESUME_WINDOW_MILLIS = 3600 * 1000;

  public PodRequest {
    containers = Collections.unmodifiableMap(new LinkedHashMap<>(containers));
    select = Collections.unmodifiableMap(new LinkedHashMap<>(select));
  }

  /** Creates a request of the default class, with the usual resume window. */
  public PodRequest(Map<String, GpuRequest> containers, Map<String, String> select, int priority) {
    this(containers, select, priority, LeaseClass.BATCH, null, null);
  }

  public boolean isNothing() {
    return containers.isEmpty();
  }

  /** Returns the request as JSON on one line. */
  public String toJson() {
    return RequestForm.write(this);
  }

  /** Parses what {@link #toJson} writes; empty for anything else. */
  public static Optional<PodRequest> parse(String json) {
    return RequestForm.read(json);
  }
}
