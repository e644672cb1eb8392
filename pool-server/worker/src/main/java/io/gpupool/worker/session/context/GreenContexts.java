// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.context;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.GreenOps;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.Payload;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The resources of GPUs that the client knows by number, and the green contexts made of them. The
 * backend gets the bytes that it gave itself, never the client's. Used by the session's thread
 * alone.
 */
public final class GreenContexts implements GreenOps {
  private static final int RESOURCE_BYTES = 144;
  private static final int MAX_RESOURCES = 1 << 14;
  private static final int MAX_GROUPS = 1024;

  private final Backend backend;
  private final CurrentCall call;
  private final Contexts contexts;
  private final List<Integer> devices;
  private final Map<Integer, byte[]> resources = new HashMap<>();
  private final Map<Integer, Long> descriptors = new HashMap<>();

  public GreenContexts(
      Backend backend, CurrentCall call, Contexts contexts, List<Integer> devices) {
    this.backend = backend;
    this.call = call;
    this.contexts = contexts;
    this.devices = devices;
  }

  @Override
  public void resourceOfDevice(int tag, int gpu, int resource, int type, long capacityBytes) {
    long out = call.out();
    int result =
        gpu >= 0 && gpu < devices.size()
            ? backend.cuDeviceGetDevResource(devices.get(gpu), out, type)
            : CudaResult.INVALID_DEVICE;
    answer(tag, result, resource, out, capacityBytes);
  }

  @Override
  public void resourceOfContext(int tag, int resource, int type, long capacityBytes) {
    long out = call.out();
    ContextState context = call.context();
    int result = CudaResult.INVALID_CONTEXT;
    if (context.isGreen()) {
      result = backend.cuGreenCtxGetDevResource(context.green, out, type);
    } else if (context.exists()) {
      result = backend.cuCtxGetDevResource(context.handle, out, type);
    }
    answer(tag, result, resource, out, capacityBytes);
  }

  private void answer(int tag, int result, int resource, long from, long capacityBytes) {
    if (result == 0 && !put(resource, from)) {
      result = CudaResult.OUT_OF_MEMORY;
    }
    if (result != 0) {
      call.reply(tag, result);
      return;
    }
    try (Arena arena = Arena.ofConfined()) {
      Payload payload = new Payload(arena, RESOURCE_BYTES + 16);
      payload.variable(capacityBytes > 0, Memory.bytes(from, RESOURCE_BYTES));
      call.reply(tag, 0, payload.address(), payload.lengthBytes());
    }
  }

  private boolean put(int resource, long from) {
    if (resources.size() >= MAX_RESOURCES) {
      return false;
    }
    resources.put(resource, Memory.bytes(from, RESOURCE_BYTES));
    return true;
  }

  @Override
  public void resourceSplit(
      int tag, int resource, int groups, int first, int flags, int minCount, long capacityBytes) {
    byte[] input = resources.get(resource);
    if (input == null || groups < 0 || groups > MAX_GROUPS) {
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    try (Arena arena = Arena.ofConfined()) {
      long made = arena.allocate(8, 8).address();
      long from = arena.allocate(RESOURCE_BYTES, 8).address();
      // The groups, then what remains.
      long results = arena.allocate((groups + 1L) * RESOURCE_BYTES, 8).address();
      long remaining = results + (long) groups * RESOURCE_BYTES;
      Memory.put(from, input, RESOURCE_BYTES);
      Memory.putInt(made, groups);
      int result =
          backend.cuDevSmResourceSplitByCount(
              groups == 0 ? 0 : results, made, from, groups == 0 ? 0 : remaining, flags, minCount);
      int count = Memory.getInt(made);
      if (result == 0 && groups > 0) {
        for (int i = 0; i < Math.min(count, groups); i++) {
          result |=
              put(first + i, results + (long) i * RESOURCE_BYTES) ? 0 : CudaResult.OUT_OF_MEMORY;
        }
        result |= put(first + groups, remaining) ? 0 : CudaResult.OUT_OF_MEMORY;
      }
      if (result != 0) {
        call.reply(tag, result);
        return;
      }
      byte[] bytes = new byte[8 + (groups == 0 ? 0 : (groups + 1) * RESOURCE_BYTES)];
      byte[] all = Memory.bytes(results, bytes.length - 8);
      System.arraycopy(all, 0, bytes, 8, all.length);
      System.arraycopy(Memory.bytes(made, 4), 0, bytes, 0, 4);
      Payload payload = new Payload(arena, bytes.length + 16);
      payload.variable(capacityBytes >= bytes.length, bytes);
      call.reply(tag, 0, payload.address(), payload.lengthBytes());
    }
  }

  @Override
  public void resourceDescribe(int tag, int descriptor, WireStruct numbers) {
    List<byte[]> found = new ArrayList<>();
    for (long at = 0; at + 4 <= numbers.lengthBytes() && found.size() <= MAX_GROUPS; at += 4) {
      found.add(resources.get(numbers.i32(at)));
    }
    if (found.isEmpty() || found.size() > MAX_GROUPS || found.contains(null)) {
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    if (descriptors.size() >= MAX_RESOURCES) {
      call.reply(tag, CudaResult.OUT_OF_MEMORY);
      return;
    }
    try (Arena arena = Arena.ofConfined()) {
      long at = arena.allocate((long) found.size() * RESOURCE_BYTES, 8).address();
      for (int i = 0; i < found.size(); i++) {
        Memory.put(at + (long) i * RESOURCE_BYTES, found.get(i), RESOURCE_BYTES);
      }
      long out = call.out();
      int result = backend.cuDevResourceGenerateDesc(out, at, found.size());
      if (result == 0) {
        descriptors.put(descriptor, Memory.getLong(out));
      }
      call.reply(tag, result);
    }
  }

  @Override
  public void greenCreate(int tag, int gpu, int descriptor, int flags) {
    Long known = descriptors.get(descriptor);
    call.reply(
        tag, known == null ? CudaResult.INVALID_VALUE : contexts.createGreen(gpu, known, flags));
  }

  @Override
  public int greenDestroy() {
    return contexts.destroyGreen();
  }
}
