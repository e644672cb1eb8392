// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.graph;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.LaunchAttributeId;
import io.gpupool.cuda.LaunchAttributeLayout;
import io.gpupool.cuda.SessionServices;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.quota.OwnedMemory;

/** The backend's launch attribute of one that came: only the fields of its id are copied. */
final class LaunchAttribute {
  private static final int VALUE = LaunchAttributeLayout.VALUE;

  /** {@code u64 address, u64 bytes, f32 ratio, i32 hit, i32 miss}. */
  private static final int WINDOW_BYTES = 28;

  private LaunchAttribute() {}

  /**
   * Whether CUDA has an attribute for launches and streams alone (cuda.h, CUkernelNodeAttrID): a
   * kernel that a graph runs after all that it depends on is right without it. Programs that launch
   * with it are captured like others.
   */
  static boolean isUnknownToNodes(int id) {
    return id == LaunchAttributeId.IGNORE
        || id == LaunchAttributeId.SYNCHRONIZATION_POLICY
        || id == LaunchAttributeId.PROGRAMMATIC_STREAM_SERIALIZATION;
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
    Memory.clear(to, LaunchAttributeLayout.BYTES);
    Memory.putInt(to, id);
    switch (id) {
      case LaunchAttributeId.IGNORE -> {}
      case LaunchAttributeId.COOPERATIVE,
          LaunchAttributeId.SYNCHRONIZATION_POLICY,
          LaunchAttributeId.CLUSTER_SCHEDULING,
          LaunchAttributeId.PROGRAMMATIC_STREAM_SERIALIZATION,
          LaunchAttributeId.PRIORITY,
          LaunchAttributeId.MEMORY_DOMAIN,
          LaunchAttributeId.PREFERRED_SHARED_MEMORY,
          LaunchAttributeId.NVLINK_SCHEDULING ->
          from.copyNumbers(value, 4, to + VALUE);
      case LaunchAttributeId.MEMORY_DOMAIN_MAP -> from.copyNumbers(value, 2, to + VALUE);
      case LaunchAttributeId.CLUSTER_DIMENSION, LaunchAttributeId.PREFERRED_CLUSTER_DIMENSION ->
          from.copyNumbers(value, 12, to + VALUE);
      case LaunchAttributeId.ACCESS_POLICY_WINDOW -> {
        // A window of no bytes takes an earlier one back.
        if (!owned.owns(from.u64(value), from.u64(value + 8))) {
          return CudaResult.INVALID_VALUE;
        }
        from.copyNumbers(value, WINDOW_BYTES, to + VALUE);
      }
      case LaunchAttributeId.PROGRAMMATIC_EVENT, LaunchAttributeId.LAUNCH_COMPLETION_EVENT -> {
        return eventsAllowed ? writeEvent(handles, from, value, to) : CudaResult.NOT_SUPPORTED;
      }
      case LaunchAttributeId.DEVICE_UPDATABLE_NODE -> {
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
