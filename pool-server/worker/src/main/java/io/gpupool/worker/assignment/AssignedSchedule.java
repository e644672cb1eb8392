// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.assignment;

import io.gpupool.wire.ScheduleSlot;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import io.gpupool.worker.os.ServerFile;
import io.gpupool.worker.slicer.GpuTimeSlice;
import io.gpupool.worker.slicer.NestedTimeSlice;
import io.gpupool.worker.slicer.SessionTimeSlice;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * A session's places in the schedules of its GPUs.
 *
 * @param files the server's schedule table; empty if neither leases nor programs have time slices
 * @param leaseSlots where the session gets its lease's time slices of each GPU; empty where leases
 *     have none
 * @param programSlots likewise, those of the lease's programs
 */
public record AssignedSchedule(
    List<ServerFile> files, List<ScheduleSlot> leaseSlots, List<ScheduleSlot> programSlots) {
  private static final String LEASE_SLOTS = "leaseSlots";
  private static final String PROGRAM_SLOTS = "programSlots";

  /** Returns whether a message has places, and a descriptor of the table follows it. */
  static boolean isIn(TextMessage message) {
    return message.get(LEASE_SLOTS).isPresent() || message.get(PROGRAM_SLOTS).isPresent();
  }

  static AssignedSchedule of(TextMessage message, List<ServerFile> files, int gpus)
      throws WireException {
    return new AssignedSchedule(
        List.copyOf(files), slots(message, LEASE_SLOTS, gpus), slots(message, PROGRAM_SLOTS, gpus));
  }

  private static List<ScheduleSlot> slots(TextMessage message, String key, int gpus)
      throws WireException {
    if (message.get(key).isEmpty()) {
      return List.of();
    }
    List<ScheduleSlot> slots = new ArrayList<>();
    for (String slot : message.require(key).split(",", Assignment.MAX_GPUS + 1)) {
      slots.add(ScheduleSlot.parse(slot));
    }
    if (slots.size() != gpus) {
      throw new WireException("not schedule slots of " + gpus + " GPUs: " + slots);
    }
    return List.copyOf(slots);
  }

  /** Joins in the time slices of each GPU; returns none if there are none. */
  List<SessionTimeSlice> join() throws IOException {
    List<SessionTimeSlice> joined = new ArrayList<>();
    for (int gpu = 0; gpu < Math.max(leaseSlots.size(), programSlots.size()); gpu++) {
      if (leaseSlots.isEmpty()) {
        joined.add(join(programSlots, gpu));
      } else if (programSlots.isEmpty()) {
        joined.add(join(leaseSlots, gpu));
      } else {
        joined.add(new NestedTimeSlice(join(leaseSlots, gpu), join(programSlots, gpu)));
      }
    }
    return joined;
  }

  private GpuTimeSlice join(List<ScheduleSlot> slots, int gpu) throws IOException {
    return GpuTimeSlice.join(files.getFirst(), slots.get(gpu));
  }
}
