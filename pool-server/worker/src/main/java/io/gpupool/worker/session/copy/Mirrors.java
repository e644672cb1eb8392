// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.copy;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.FrameLimits;
import io.gpupool.cuda.MirrorOps;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.context.Contexts;
import io.gpupool.worker.session.core.Answers;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.HandleTable;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.core.Payload;
import io.gpupool.worker.session.journal.RestoreException;
import io.gpupool.worker.session.journal.SavedTopic;
import io.gpupool.worker.session.quota.OwnedMemory;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;

/**
 * The mirrors of the session, by address. Used by the session's thread; what the device changed is
 * looked for in a waiting thread.
 */
public final class Mirrors implements MirrorOps, SavedTopic {
  /** Of all mirrors together: 32 MiB of fingerprints. */
  private static final long MAX_BLOCKS = 1 << 22;

  /** The length up to which a mirror is searched in the calling thread. */
  private static final long SHORT_BYTES = 256 << 10;

  private final Backend backend;
  private final CurrentCall call;
  private final HandleTables handles;
  private final Answers answers;
  private final ExecutorService threads;
  private final OwnedMemory owned;
  private final Uploads uploads;
  private final Contexts contexts;
  private final TreeMap<Long, Mirror> mirrors = new TreeMap<>();
  private long zeroBlock;
  private long blocks;

  public Mirrors(
      Backend backend,
      CurrentCall call,
      HandleTables handles,
      Answers answers,
      ExecutorService threads,
      OwnedMemory owned,
      Uploads uploads,
      Contexts contexts) {
    this.backend = backend;
    this.call = call;
    this.handles = handles;
    this.answers = answers;
    this.threads = threads;
    this.owned = owned;
    this.uploads = uploads;
    this.contexts = contexts;
  }

  @Override
  public int mirrorCreate(long address, long lengthBytes, int blockBytes, int zeroed, int stream) {
    long streamHandle = handles.stream(stream);
    int refused =
        call.context().exists() ? HandleTable.found(streamHandle) : CudaResult.INVALID_CONTEXT;
    boolean sound =
        lengthBytes > 0
            && address > 0
            && address <= Long.MAX_VALUE - lengthBytes
            && blockBytes >= Mirror.MIN_BLOCK_BYTES
            && blockBytes <= Mirror.MAX_BLOCK_BYTES
            && Integer.bitCount(blockBytes) == 1
            && lengthBytes / blockBytes <= MAX_BLOCKS
            && owned.owns(address, lengthBytes);
    if (refused == 0 && (!sound || mirrors.containsKey(address))) {
      refused = CudaResult.INVALID_VALUE;
    }
    if (refused == 0 && Mirror.blocks(lengthBytes, blockBytes) > MAX_BLOCKS - blocks) {
      refused = CudaResult.OUT_OF_MEMORY;
    }
    if (refused != 0) {
      return refused;
    }
    Mirror mirror = new Mirror(call.context(), address, lengthBytes, blockBytes);
    if (zeroed != 0) {
      if (zeroBlock == 0) {
        zeroBlock = Memory.allocateForever(Mirror.MAX_BLOCK_BYTES);
      }
      mirror.zeroed(zeroBlock);
      int result = backend.cuMemsetD8Async(address, 0, lengthBytes, streamHandle);
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
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    if (capacityBytes != (mirror.blocks() + 7) / 8 || capacityBytes > FrameLimits.MAX_DATA_BYTES) {
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    mirror.context.waitingThreads.incrementAndGet();
    boolean isShort = lengthBytes <= SHORT_BYTES;
    if (isShort && mirror.context == call.context() && backend.isReadable(address, lengthBytes)) {
      compare(tag, mirror);
    } else {
      threads.execute(() -> compare(tag, mirror));
    }
  }

  private void compare(int tag, Mirror mirror) {
    ContextState context = mirror.context;
    try (Arena arena = Arena.ofConfined()) {
      backend.cuCtxSetCurrent(context.handle);
      byte[] changed = new byte[(mirror.blocks() + 7) / 8];
      int result =
          new PieceReader(backend, owned, context)
              .read(
                  mirror.address,
                  mirror.lengthBytes,
                  (offset, piece, bytes, lender) -> {
                    mirror.compare(
                        offset,
                        piece,
                        bytes,
                        changed,
                        (at, from, length) -> answers.data(tag, at, from, length));
                    return false;
                  });
      Payload payload = new Payload(arena, changed.length + 16);
      payload.variable(true, changed);
      if (CudaResult.isSticky(result)) {
        context.report(result);
      }
      answers.reply(tag, result, payload.address(), payload.lengthBytes());
      answers.flush();
    } finally {
      context.waitingThreads.decrementAndGet();
    }
  }

  @Override
  public void save(DataOutput to) throws IOException {
    to.writeInt(mirrors.size());
    for (Mirror mirror : mirrors.values()) {
      to.writeInt(mirror.context.number);
      mirror.save(to);
    }
  }

  @Override
  public void restore(DataInput from) throws IOException, RestoreException {
    for (int count = from.readInt(); count > 0; count--) {
      Mirror mirror = Mirror.restore(contexts.find(from.readInt()), from);
      if (!mirror.context.exists() || mirror.blocks() > MAX_BLOCKS - blocks) {
        throw new RestoreException("a mirror of memory cannot be made again");
      }
      mirrors.put(mirror.address, mirror);
      blocks += mirror.blocks();
    }
  }

  /** The mirrors of a context went with it. */
  public void forget(ContextState context) {
    for (Mirror mirror : new ArrayList<>(mirrors.values())) {
      if (mirror.context == context) {
        mirrorDrop(mirror.address);
      }
    }
  }
}
