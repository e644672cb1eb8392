// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.view;

import io.gpupool.control.v1.ListQueueReply;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.queue.LeaseQueue;
import io.gpupool.server.lease.queue.QueuePosition;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.ResourceUsage;
import io.gpupool.server.select.Selection;
import java.util.Comparator;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A view of the queue as messages. Runs on the control thread. */
public record QueueView(LeaseQueue queue, Capacity capacity, Timers timers) {
  private static final long NANOS_PER_MILLI = 1_000_000;

  public ListQueueReply list(Principal principal) {
    ListQueueReply.Builder reply = ListQueueReply.newBuilder();
    Stream.concat(queue.here().stream(), queue.elsewhere().stream())
        .filter(position -> maySee(principal, position.request().spec()))
        .forEach(position -> reply.addRequests(info(position)));
    return reply.build();
  }

  /** The ids of the requests whose clients are connected to this server. */
  Set<String> idsHere() {
    return queue.here().stream()
        .map(position -> position.request().id())
        .collect(Collectors.toSet());
  }

  private static boolean maySee(Principal principal, LeaseSpec spec) {
    return principal.maySee(spec.tenant(), spec.pod().orElse(null));
  }

  private QueueInfo info(QueuePosition position) {
    LeaseSpec spec = position.request().spec();
    GpuRequirements requirements = spec.requirements();
    QueueInfo.Builder info =
        QueueInfo.newBuilder()
            .setId(position.request().id())
            .setPosition(position.place())
            .setPriority(spec.priority())
            .setHolder(spec.holder().message())
            .setTenant(spec.tenant())
            .setWanted(requirements.describe())
            .setReason(position.reason().message())
            .setWaitedMillis(Math.max(0, millisSince(position.request().sinceNanos())))
            .setWaitLimitMillis(spec.waitMillis())
            .setGpus(gpus(requirements))
            .setModel(model(requirements))
            .setOverQuota(position.isOverQuota());
    spec.pod().ifPresent(pod -> info.setPod(pod.message()));
    return info.build();
  }

  /** Returns the pattern of the model that it asks for; empty: any. */
  private static String model(GpuRequirements requirements) {
    return requirements.selectors().stream()
        .filter(selector -> selector.property().equals("model"))
        .map(selector -> String.join("|", selector.values()))
        .findFirst()
        .orElse("");
  }

  /** How many GPUs a request counts, if it gets the largest that will do. */
  private double gpus(GpuRequirements requirements) {
    Selection selection = new Selection(requirements.selectors());
    return requirements.gpus()
        * capacity.gpus().stream()
            .filter(gpu -> selection.accepts(gpu::property))
            .max(Comparator.comparingLong(Gpu::memoryBytes))
            .map(gpu ->
                Math.min(1, ResourceUsage.milliGpus(gpu, requirements.shareOf(gpu)) / 1000.0))
            .orElse(1.0);
  }

  private long millisSince(long nanos) {
    return (timers.nowNanos() - nanos) / NANOS_PER_MILLI;
  }
}
