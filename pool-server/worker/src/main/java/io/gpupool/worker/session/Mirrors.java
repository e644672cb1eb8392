// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.MirrorOps;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Map;
import java.util.TreeMap;

/**
 * The mirrors of the session, by address. Used by the session's thread; what the device changed is
 * looked for in a waiting thread.
 */
final class Mirrors implements MirrorOps {
  /** Of all mirrors together: 32 MiB of fingerprints. */
  private static final long MAX_BLOCKS = 1 << 22;

  /** What can be looked through at once takes no other thread, where it need not wait. */
  private static final long SHORT_BYTES = 256 << 10;

  private final SessionState state;
  private final Uploads uploads;
  private final TreeMap<Long, Mirror> mirrors = new TreeMap<>();
  private long zeroBlock;
  private long blocks;

  Mirrors(SessionState state, Uploads uploads) {
    this.state = state;
    this.uploads = uploads;
  }

  @Override
  public int mirrorCreate(long address, long lengthBytes, int blockBytes, int zeroed, int stream) {
    long streamHandle = state.stream(stream);
    int refused =
        state.current.exists() ? SessionState.found(streamHandle) : CudaResult.INVALID_CONTEXT;
    boolean sound =
        lengthBytes > 0
            && address > 0
            && address <= Long.MAX_VALUE - lengthBytes
            && blockBytes >= Mirror.MIN_BLOCK_BYTES
            && blockBytes <= Mirror.MAX_BLOCK_BYTES
            && Integer.bitCount(blockBytes) == 1
            && lengthBytes / blockBytes <= MAX_BLOCKS
            && state.owned.owns(address, lengthBytes);
    if (refused == 0 && (!sound || mirrors.containsKey(address))) {
      refused = CudaResult.INVALID_VALUE;
    }
    if (refused == 0 && Mirror.blocks(lengthBytes, blockBytes) > MAX_BLOCKS - blocks) {
      refused = CudaResult.OUT_OF_MEMORY;
    }
    if (refused != 0) {
      return refused;
    }
    Mirror mirror = new Mirror(state.current, address, lengthBytes, blockBytes);
    if (zeroed != 0) {
      if (zeroBlock == 0) {
        zeroBlock = Memory.allocateForever(Mirror.MAX_BLOCK_BYTES);
      }
      mirror.zeroed(zeroBlock);
      int result = state.backend.cuMemsetD8Async(address, 0, lengthBytes, streamHandle);
      if (result != 0) {
        return result;
      }
    }
    mirrors.put(address, mirror);
    blocks += mirror.blocks();
    return CudaResult.SUCCESS;
  }

  @Override
  public int mirrorDrop(long address) {
    Mirror mirror = mirrors.remove(address);
    if (mirror == null) {
      return CudaResult.INVALID_VALUE;
    }
    blocks -= mirror.blocks();
    return CudaResult.SUCCESS;
  }

  @Override
  public int mirrorWrite(long address, int stream, long data, long dataBytes) {
    Map.Entry<Long, Mirror> entry = mirrors.floorEntry(address);
    if (entry == null || !entry.getValue().contains(address, dataBytes)) {
      return CudaResult.INVALID_VALUE;
    }
    int result = uploads.memcpyHtoD(address, stream, data, dataBytes);
    if (result == 0) {
      entry.getValue().written(address, data, dataBytes);
    }
    return result;
  }

  @Override
  public void mirrorRead(int tag, long address, long lengthBytes, long capacityBytes) {
    Mirror mirror = mirrors.get(address);
    if (mirror == null || mirror.lengthBytes != lengthBytes) {
      state.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    if (capacityBytes != (mirror.blocks() + 7) / 8 || capacityBytes > Frames.MAX_DATA_BYTES) {
      state.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    mirror.context.waitingThreads.incrementAndGet();
    boolean isShort = lengthBytes <= SHORT_BYTES;
    if (isShort
        && mirror.context == state.current
        && state.backend.isReadable(address, lengthBytes)) {
      compare(tag, mirror);
    } else {
      state.threads.execute(() -> compare(tag, mirror));
    }
  }

  private void compare(int tag, Mirror mirror) {
    ContextState context = mirror.context;
    try (Arena arena = Arena.ofConfined()) {
      state.backend.cuCtxSetCurrent(context.handle);
      byte[] changed = new byte[(mirror.blocks() + 7) / 8];
      int result =
          new PieceReader(state.backend, state.owned, context)
              .read(
                  mirror.address,
                  mirror.lengthBytes,
                  (offset, piece, bytes) ->
                      mirror.compare(
                          offset,
                          piece,
                          bytes,
                          changed,
                          (at, from, length) -> state.answers.data(tag, at, from, length)));
      Payload payload = new Payload(arena, changed.length + 16);
      payload.variable(true, changed);
      if (CudaResult.isSticky(result)) {
        context.report(result);
      }
      state.answers.reply(tag, result, payload.address(), payload.lengthBytes());
      state.answers.flush();
    } finally {
      context.waitingThreads.decrementAndGet();
    }
  }

  /** The mirrors of a context went with it. */
  void forget(ContextState context) {
    for (Mirror mirror : new ArrayList<>(mirrors.values())) {
      if (mirror.context == context) {
        mirrorDrop(mirror.address);
      }
    }
  }
}
