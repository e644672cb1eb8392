// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.texture;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.TensorKind;
import io.gpupool.cuda.TensorMapOps;
import io.gpupool.cuda.TensorRequest;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.core.Payload;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.util.LinkedHashSet;

/**
 * The maker of tensor maps, which are the backend's values and nothing of the session's. Used by
 * the session's thread alone.
 */
public final class TensorMaps implements TensorMapOps {
  private static final int MAP_BYTES = 128;
  private static final int MAX_RANK = 5;

  /** The limit of remembered maps; the oldest go first. */
  private static final int MAX_MADE = 1 << 14;

  private final Backend backend;
  private final CurrentCall call;

  /** The maps that the backend has made: it changes no other bytes. */
  private final LinkedHashSet<ByteBuffer> made = new LinkedHashSet<>();

  public TensorMaps(Backend backend, CurrentCall call) {
    this.backend = backend;
    this.call = call;
  }

  @Override
  public void tensorMapEncode(int tag, WireStruct given, long mapCapacityBytes) {
    if (!given.is(TensorRequest.BYTES)) {
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    long tensor = call.in();
    // Numbers all: the address is one that kernels will use, and goes into the map as it is.
    given.copyNumbers(0, TensorRequest.BYTES, tensor);
    int rank = Memory.getInt(tensor + TensorRequest.RANK);
    int result = check();
    if (result == 0 && (rank < 1 || rank > MAX_RANK)) {
      result = CudaResult.INVALID_VALUE;
    }
    long map = call.out();
    answer(tag, result == 0 ? encode(map, tensor, rank) : result, map, mapCapacityBytes);
  }

  private int encode(long map, long tensor, int rank) {
    return switch (Memory.getInt(tensor + TensorRequest.KIND)) {
      case TensorKind.TILED -> encodeTiled(map, tensor, rank);
      case TensorKind.IM2COL -> encodeIm2col(map, tensor, rank);
      case TensorKind.IM2COL_WIDE -> encodeIm2colWide(map, tensor, rank);
      default -> CudaResult.INVALID_VALUE;
    };
  }

  private int encodeTiled(long map, long tensor, int rank) {
    return backend.cuTensorMapEncodeTiled(
        map,
        Memory.getInt(tensor + TensorRequest.TYPE),
        rank,
        Memory.getLong(tensor + TensorRequest.ADDRESS),
        tensor + TensorRequest.DIMS,
        tensor + TensorRequest.STRIDES,
        tensor + TensorRequest.BOX,
        tensor + TensorRequest.ELEMENT_STRIDES,
        Memory.getInt(tensor + TensorRequest.INTERLEAVE),
        Memory.getInt(tensor + TensorRequest.SWIZZLE),
        Memory.getInt(tensor + TensorRequest.L2_PROMOTION),
        Memory.getInt(tensor + TensorRequest.OOB_FILL));
  }

  private int encodeIm2col(long map, long tensor, int rank) {
    return backend.cuTensorMapEncodeIm2col(
        map,
        Memory.getInt(tensor + TensorRequest.TYPE),
        rank,
        Memory.getLong(tensor + TensorRequest.ADDRESS),
        tensor + TensorRequest.DIMS,
        tensor + TensorRequest.STRIDES,
        tensor + TensorRequest.LOWER_CORNER,
        tensor + TensorRequest.UPPER_CORNER,
        Memory.getInt(tensor + TensorRequest.CHANNELS),
        Memory.getInt(tensor + TensorRequest.PIXELS),
        tensor + TensorRequest.ELEMENT_STRIDES,
        Memory.getInt(tensor + TensorRequest.INTERLEAVE),
        Memory.getInt(tensor + TensorRequest.SWIZZLE),
        Memory.getInt(tensor + TensorRequest.L2_PROMOTION),
        Memory.getInt(tensor + TensorRequest.OOB_FILL));
  }

  private int encodeIm2colWide(long map, long tensor, int rank) {
    return backend.cuTensorMapEncodeIm2colWide(
        map,
        Memory.getInt(tensor + TensorRequest.TYPE),
        rank,
        Memory.getLong(tensor + TensorRequest.ADDRESS),
        tensor + TensorRequest.DIMS,
        tensor + TensorRequest.STRIDES,
        Memory.getInt(tensor + TensorRequest.LOWER_CORNER),
        Memory.getInt(tensor + TensorRequest.UPPER_CORNER),
        Memory.getInt(tensor + TensorRequest.CHANNELS),
        Memory.getInt(tensor + TensorRequest.PIXELS),
        tensor + TensorRequest.ELEMENT_STRIDES,
        Memory.getInt(tensor + TensorRequest.INTERLEAVE),
        Memory.getInt(tensor + TensorRequest.MODE),
        Memory.getInt(tensor + TensorRequest.SWIZZLE),
        Memory.getInt(tensor + TensorRequest.L2_PROMOTION),
        Memory.getInt(tensor + TensorRequest.OOB_FILL));
  }

  @Override
  public void tensorMapReplace(
      int tag, WireStruct given, long address, long replacedCapacityBytes) {
    int result =
        given.is(MAP_BYTES) && made.contains(key(given)) ? check() : CudaResult.INVALID_VALUE;
    long map = call.out();
    if (result == 0) {
      given.copyNumbers(0, MAP_BYTES, map);
      result = backend.cuTensorMapReplaceAddress(map, address);
    }
    answer(tag, result, map, replacedCapacityBytes);
  }

  private static ByteBuffer key(WireStruct map) {
    return ByteBuffer.wrap(map.bytes(0, MAP_BYTES));
  }

  private int check() {
    return call.context().exists() ? 0 : CudaResult.INVALID_CONTEXT;
  }

  private void answer(int tag, int result, long map, long capacityBytes) {
    if (result != 0) {
      call.reply(tag, result);
      return;
    }
    if (made.size() >= MAX_MADE) {
      made.removeFirst();
    }
    made.add(ByteBuffer.wrap(Memory.bytes(map, MAP_BYTES)));
    try (Arena arena = Arena.ofConfined()) {
      Payload payload = new Payload(arena, MAP_BYTES + 16);
      payload.variable(capacityBytes >= MAP_BYTES, Memory.bytes(map, MAP_BYTES));
      call.reply(tag, 0, payload.address(), payload.lengthBytes());
    }
  }
}
