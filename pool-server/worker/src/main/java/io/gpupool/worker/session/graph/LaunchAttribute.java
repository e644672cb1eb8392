// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.graph;

import io.gpupool.cuda.SessionServices;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.core.CudaResult;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.quota.OwnedMemory;

/**
 * The backend's CUlaunchAttribute of one that came: {@code i32 id}, then a value of 64 bytes at 8,
 * of which only the fields of that id are copied.
 */
final class LaunchAttribute {
  static final int BYTES = 72;
  static final int VALUE = 8;
  static final int VALUE_BYTES = BYTES - VALUE;

  static final int COOPERATIVE = 2;

  private static final int IGNORE = 0;
  private static final int ACCESS_POLICY_WINDOW = 1;
  private static final int SYNCHRONIZATION_POLICY = 3;
  private static final int CLUSTER_DIMENSION = 4;
  private static final int CLUSTER_SCHEDULING = 5;
  private static final int PROGRAMMATIC_STREAM_SERIALIZATION = 6;
  private static final int PROGRAMMATIC_EVENT = 7;
  private static final int PRIORITY = 8;
  private static final int MEMORY_DOMAIN_MAP = 9;
  private static final int MEMORY_DOMAIN = 10;
  private static final int PREFERRED_CLUSTER_DIMENSION = 11;
  private static final int LAUNCH_COMPLETION_EVENT = 12;
  private static final int DEVICE_UPDATABLE_NODE = 13;
  private static final int PREFERRED_SHARED_MEMORY = 14;
  private static final int NVLINK_SCHEDULING = 16;

  /** {@code u64 address, u64 bytes, f32 ratio, i32 hit, i32 miss}. */
  private static final int WINDOW_BYTES = 28;

  private LaunchAttribute() {}

  /**
   * Whether CUDA has an attribute for launches and streams alone (cuda.h, CUkernelNodeAttrID): a
   * kernel that a graph runs after all that it depends on is right without it. Programs that launch
   * with it are captured like others.
   */
  static boolean isUnknownToNodes(int id) {
    return id == IGNORE || id == SYNCHRONIZATION_POLICY || id == PROGRAMMATIC_STREAM_SERIALIZATION;
  }

  /**
   * Writes an attribute for the backend, events as its own.
   *
   * @param at where in {@code from} it begins
   * @param eventsAllowed whether it is of a launch; nodes of graphs cannot have events
   * @return CUresult
   */
  static int write(
      HandleTables handles,
      OwnedMemory owned,
      WireStruct from,
      long at,
      boolean eventsAllowed,
      long to) {
    int id = from.i32(at);
    long value = at + VALUE;
    Memory.clear(to, BYTES);
    Memory.putInt(to, id);
    switch (id) {
      case IGNORE -> {}
      case COOPERATIVE,
          SYNCHRONIZATION_POLICY,
          CLUSTER_SCHEDULING,
          PROGRAMMATIC_STREAM_SERIALIZATION,
          PRIORITY,
          MEMORY_DOMAIN,
          PREFERRED_SHARED_MEMORY,
          NVLINK_SCHEDULING ->
          from.copyNumbers(value, 4, to + VALUE);
      case MEMORY_DOMAIN_MAP -> from.copyNumbers(value, 2, to + VALUE);
      case CLUSTER_DIMENSION, PREFERRED_CLUSTER_DIMENSION ->
          from.copyNumbers(value, 12, to + VALUE);
      case ACCESS_POLICY_WINDOW -> {
        // A window of no bytes takes an earlier one back.
        if (!owned.owns(from.u64(value), from.u64(value + 8))) {
          return CudaResult.INVALID_VALUE;
        }
        from.copyNumbers(value, WINDOW_BYTES, to + VALUE);
      }
      case PROGRAMMATIC_EVENT, LAUNCH_COMPLETION_EVENT -> {
        return eventsAllowed ? writeEvent(handles, from, value, to) : CudaResult.NOT_SUPPORTED;
      }
      case DEVICE_UPDATABLE_NODE -> {
        return CudaResult.NOT_SUPPORTED;
      }
      default -> {
        return CudaResult.INVALID_VALUE;
      }
    }
    return CudaResult.SUCCESS;
  }

  /** {@code u64 event, i32 flags}, and of a programmatic event {@code i32 triggerAtBlockStart}. */
  private static int writeEvent(HandleTables handles, WireStruct from, long value, long to) {
    long number = from.u64(value);
    long event = number == (int) number ? handles.events().get((int) number) : 0;
    if (event == SessionServices.NO_HANDLE || event == 0) {
      return CudaResult.INVALID_HANDLE;
    }
    Memory.putLong(to + VALUE, event);
    from.copyNumbers(value + 8, 8, to + VALUE + 8);
    return CudaResult.SUCCESS;
  }
}
