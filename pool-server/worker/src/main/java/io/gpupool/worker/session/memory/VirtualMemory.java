// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.memory;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.VirtualMemoryOps;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.core.AddressRanges;
import io.gpupool.worker.session.exchange.Exchange;
import io.gpupool.worker.session.exchange.Exports;
import io.gpupool.worker.session.exchange.NotSharedException;
import io.gpupool.worker.session.exchange.Token;
import io.gpupool.worker.session.journal.RestoreException;
import io.gpupool.worker.session.journal.SavedTopic;
import io.gpupool.worker.session.quota.MemoryQuota;
import io.gpupool.worker.session.quota.OwnedMemory;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Blocks of device memory that the client maps at addresses it reserved. A block is counted in the
 * ledger from its making until it has neither a handle nor a mapping. Used by the session's thread
 * alone.
 */
public final class VirtualMemory implements VirtualMemoryOps, SavedTopic {
  private static final int NO_TAG = 0;
  private static final int MAX_BLOCKS = 1 << 20;
  private static final int MAX_MAPPINGS = 1 << 20;
  private static final int MAX_RESERVATIONS = 1 << 16;

  /** CUmemAccess_flags: none, reading, or reading and writing. */
  private static final int MAX_ACCESS = 3;

  /* CUmemAllocationProp: i32 type, i32 handle types, CUmemLocation, u64 metadata, flags. */
  private static final int PROP_BYTES = 32;
  private static final int PROP_HANDLE_TYPES = 4;
  private static final int PROP_LOCATION_TYPE = 8;
  private static final int PROP_LOCATION = 12;
  private static final int PINNED = 1;
  private static final int LOCATION_DEVICE = 1;

  private final Backend backend;
  private final CurrentCall call;
  private final OwnedMemory owned;
  private final MemoryQuota quota;
  private final Exports exports;
  private final List<Integer> devices;
  private final Map<Integer, Block> blocks = new HashMap<>();
  private final TreeMap<Long, Mapped> mappings = new TreeMap<>();

  /** The addresses that the session has reserved. */
  private final AddressRanges reservations = new AddressRanges();

  private long nextId;

  /** A block, of this session or opened under a token; the handle is the backend's. */
  private static final class Block {
    final long id;
    final int gpu;
    final long lengthBytes;
    final @Nullable Token opened;
    final int shareable;
    long handle;
    boolean released;
    int mappings;

    /** Whether it may have contents that can be read nowhere. */
    boolean hidden;

    Block(long id, int gpu, long lengthBytes, int shareable, long handle, @Nullable Token opened) {
      this.id = id;
      this.gpu = gpu;
      this.lengthBytes = lengthBytes;
      this.shareable = shareable;
      this.handle = handle;
      this.opened = opened;
    }
  }

  /** A block where it is mapped. */
  private static final class Mapped {
    final int number;
    final Block block;
    final long lengthBytes;
    final long offset;

    /** CUmemAccess_flags by GPU, of those for which they were set. */
    final Map<Integer, Integer> access = new TreeMap<>();

    Mapped(int number, Block block, long lengthBytes, long offset) {
      this.number = number;
      this.block = block;
      this.lengthBytes = lengthBytes;
      this.offset = offset;
    }
  }

  public VirtualMemory(
      Backend backend,
      CurrentCall call,
      OwnedMemory owned,
      MemoryQuota quota,
      Exports exports,
      List<Integer> devices) {
    this.backend = backend;
    this.call = call;
    this.owned = owned;
    this.quota = quota;
    this.exports = exports;
    this.devices = devices;
  }

  @Override
  public void vmGranularity(int tag, int gpu, int option, boolean lengthBytesWanted) {
    if (!isGpu(gpu)) {
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    long out = call.out();
    int result = backend.cuMemGetAllocationGranularity(out, prop(gpu), option);
    call.reply(tag, result, out, Long.BYTES);
  }

  @Override
  public void vmReserve(
      int tag, long lengthBytes, long alignmentBytes, long wanted, boolean addressWanted) {
    if (reservations.count() >= MAX_RESERVATIONS) {
      call.reply(tag, CudaResult.OUT_OF_MEMORY);
      return;
    }
    long out = call.out();
    int result = backend.cuMemAddressReserve(out, lengthBytes, alignmentBytes, wanted, 0);
    if (result == 0) {
      reservations.add(Memory.getLong(out), lengthBytes);
      owned.add(Memory.getLong(out), lengthBytes);
    }
    call.reply(tag, result, out, Long.BYTES);
  }

  @Override
  public void vmFree(int tag, long address, long lengthBytes) {
    if (!reservations.contains(address, lengthBytes)) {
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    owned.remove(address);
    int result = backend.cuMemAddressFree(address, lengthBytes);
    if (result == 0) {
      reservations.remove(address);
    } else {
      owned.add(address, lengthBytes);
    }
    call.reply(tag, result);
  }

  private boolean isReserved(long address, long lengthBytes) {
    return lengthBytes > 0 && reservations.cover(address, lengthBytes);
  }

  @Override
  public void vmCreate(int tag, int number, int gpu, long lengthBytes, int shareable) {
    boolean sound =
        isGpu(gpu)
            && lengthBytes > 0
            && !blocks.containsKey(number)
            && Exports.isHandleType(shareable);
    int refused = sound ? CudaResult.SUCCESS : CudaResult.INVALID_VALUE;
    exports.endReleased();
    if (sound && (blocks.size() >= MAX_BLOCKS || !quota.reserve(gpu, lengthBytes))) {
      refused = CudaResult.OUT_OF_MEMORY;
    }
    if (refused != 0) {
      call.reply(tag, refused);
      return;
    }
    long out = call.out();
    long prop = prop(gpu);
    Memory.putInt(prop + PROP_HANDLE_TYPES, shareable);
    int result = backend.cuMemCreate(out, lengthBytes, prop, 0);
    if (result == 0) {
      long id = nextId++;
      blocks.put(number, new Block(id, gpu, lengthBytes, shareable, Memory.getLong(out), null));
    } else {
      quota.release(gpu, lengthBytes);
    }
    call.reply(tag, result);
  }

  @Override
  public int vmRelease(int number) {
    Block block = blocks.get(number);
    if (block == null || block.released) {
      return CudaResult.INVALID_VALUE;
    }
    block.released = true;
    int result = backend.cuMemRelease(block.handle);
    forgetIfUnused(number, block);
    return result;
  }

  /** The client wants the handle again of a mapped block that it has released. */
  @Override
  public void vmRetain(int tag, int number, long address) {
    Map.Entry<Long, Mapped> entry = mappings.floorEntry(address);
    boolean sound =
        entry != null
            && address - entry.getKey() < entry.getValue().lengthBytes
            && entry.getValue().number == number
            && entry.getValue().block.released;
    if (!sound) {
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    long out = call.out();
    int result = backend.cuMemRetainAllocationHandle(out, address);
    if (result == 0) {
      Block block = entry.getValue().block;
      block.handle = Memory.getLong(out);
      block.released = false;
    }
    call.reply(tag, result);
  }

  @Override
  public void vmMap(int tag, long address, long lengthBytes, long offset, int number) {
    Block block = blocks.get(number);
    if (block == null
        || block.released
        || !isReserved(address, lengthBytes)
        || mappings.size() >= MAX_MAPPINGS) {
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    int result = backend.cuMemMap(address, lengthBytes, offset, block.handle, 0);
    if (result == 0) {
      block.mappings++;
      mappings.put(address, new Mapped(number, block, lengthBytes, offset));
    }
    call.reply(tag, result);
  }

  @Override
  public void vmUnmap(int tag, long address, long lengthBytes) {
    int result =
        isReserved(address, lengthBytes)
            ? backend.cuMemUnmap(address, lengthBytes)
            : CudaResult.INVALID_VALUE;
    if (result == 0) {
      Map<Long, Mapped> gone = mappings.subMap(address, address + lengthBytes);
      for (Mapped mapped : gone.values()) {
        mapped.block.mappings--;
        mapped.block.hidden = true;
        forgetIfUnused(mapped.number, mapped.block);
      }
      gone.clear();
    }
    call.reply(tag, result);
  }

  @Override
  public void vmSetAccess(int tag, long address, long lengthBytes, int gpu, int flags) {
    boolean sound = isGpu(gpu) && flags >= 0 && flags <= MAX_ACCESS;
    if (!sound || !isReserved(address, lengthBytes)) {
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    long access = location(gpu);
    Memory.putInt(access + 8, flags);
    int result = backend.cuMemSetAccess(address, lengthBytes, access, 1);
    if (result == 0) {
      mappings
          .subMap(address, address + lengthBytes)
          .values()
          .forEach(mapped -> mapped.access.put(gpu, flags));
    }
    call.reply(tag, result);
  }

  @Override
  public void vmGetAccess(int tag, long address, int gpu, boolean flagsWanted) {
    if (!isGpu(gpu) || !isReserved(address, 1)) {
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    long out = call.out();
    int result = backend.cuMemGetAccess(out, location(gpu), address);
    call.reply(tag, result, out, Long.BYTES);
  }

  private void forgetIfUnused(int number, Block block) {
    if (block.released && block.mappings == 0) {
      blocks.remove(number);
      if (block.opened != null) {
        exports.exchange().giveBack(block.opened);
      } else if (exports.withdraw(Exchange.Kind.BLOCK, block.id, () -> uncount(block))) {
        uncount(block);
      }
    }
  }

  private void uncount(Block block) {
    quota.release(block.gpu, block.lengthBytes);
  }

  @Override
  public void vmShare(
      int tag, int number, boolean word0, boolean word1, boolean word2, boolean word3) {
    Block block = blocks.get(number);
    if (block == null || block.released) {
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    long out = call.out();
    try {
      Token token =
          block.opened == null
              ? exports.token(Exchange.Kind.BLOCK, block.id).orElse(null)
              : block.opened;
      if (token == null) {
        int result = backend.cuMemExportToShareableHandle(out, block.handle, Exports.DESCRIPTOR, 0);
        if (result != 0) {
          call.reply(tag, result);
          return;
        }
        int descriptor = Memory.getInt(out);
        token =
            exports.addFile(
                Exchange.Kind.BLOCK, block.id, block.gpu, block.lengthBytes, descriptor);
      }
      call.reply(tag, 0, out, Exports.put(out, token));
    } catch (NotSharedException e) {
      call.reply(tag, e.result());
    }
  }

  @Override
  public void vmOpen(
      int tag,
      long word0,
      long word1,
      long word2,
      long word3,
      int number,
      boolean deviceWanted,
      boolean lengthBytesWanted) {
    if (blocks.containsKey(number) || blocks.size() >= MAX_BLOCKS) {
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    Token token = new Token(word0, word1, word2, word3);
    try {
      Exchange.Taken taken = exports.exchange().take(token, Exchange.Kind.BLOCK);
      long out = call.out();
      int result =
          backend.cuMemImportFromShareableHandle(out, taken.descriptorOrNone(), Exports.DESCRIPTOR);
      taken.closeDescriptor();
      if (result != 0) {
        exports.exchange().giveBack(token);
        call.reply(tag, result);
        return;
      }
      long handle = Memory.getLong(out);
      blocks.put(number, new Block(nextId++, taken.gpu(), taken.lengthBytes(), 0, handle, token));
      Memory.putLong(out, taken.gpu());
      Memory.putLong(out + 8, taken.lengthBytes());
      call.reply(tag, 0, out, 16);
    } catch (NotSharedException e) {
      call.reply(tag, e.result());
    }
  }

  @Override
  public Optional<String> fixed() {
    for (Block block : blocks.values()) {
      if (block.opened != null) {
        return Optional.of("a block of memory of another process");
      }
      if (block.hidden) {
        return Optional.of("a block of memory of which a part was unmapped");
      }
    }
    return Optional.empty();
  }

  @Override
  public void save(DataOutput to) throws IOException {
    to.writeInt(reservations.count());
    for (Map.Entry<Long, Long> reservation : reservations.lengths().entrySet()) {
      to.writeLong(reservation.getKey());
      to.writeLong(reservation.getValue());
    }
    to.writeInt(blocks.size());
    for (Map.Entry<Integer, Block> entry : blocks.entrySet()) {
      to.writeInt(entry.getKey());
      to.writeInt(entry.getValue().gpu);
      to.writeLong(entry.getValue().lengthBytes);
      to.writeInt(entry.getValue().shareable);
      to.writeBoolean(entry.getValue().released);
    }
    to.writeInt(mappings.size());
    for (Map.Entry<Long, Mapped> entry : mappings.entrySet()) {
      Mapped mapped = entry.getValue();
      to.writeLong(entry.getKey());
      to.writeInt(mapped.number);
      to.writeLong(mapped.lengthBytes);
      to.writeLong(mapped.offset);
      to.writeInt(mapped.access.size());
      for (Map.Entry<Integer, Integer> access : mapped.access.entrySet()) {
        to.writeInt(access.getKey());
        to.writeInt(access.getValue());
      }
    }
  }

  @Override
  public void restore(DataInput from) throws IOException, RestoreException {
    for (int count = from.readInt(); count > 0; count--) {
      restoreReservation(from.readLong(), from.readLong());
    }
    List<Integer> released = new ArrayList<>();
    for (int count = from.readInt(); count > 0; count--) {
      int number = from.readInt();
      vmCreate(NO_TAG, number, from.readInt(), from.readLong(), from.readInt());
      require("a block of virtual memory");
      if (from.readBoolean()) {
        released.add(number);
      }
    }
    for (int count = from.readInt(); count > 0; count--) {
      long address = from.readLong();
      int number = from.readInt();
      long lengthBytes = from.readLong();
      vmMap(NO_TAG, address, lengthBytes, from.readLong(), number);
      require("a mapping of virtual memory");
      for (int access = from.readInt(); access > 0; access--) {
        vmSetAccess(NO_TAG, address, lengthBytes, from.readInt(), from.readInt());
        require("the access to a mapping");
      }
    }
    released.forEach(this::vmRelease);
  }

  private void restoreReservation(long address, long lengthBytes) throws RestoreException {
    backend.relocation().ifPresent(relocation -> relocation.plan(new long[] {address}));
    vmReserve(NO_TAG, lengthBytes, 0, address, true);
    require("a range of addresses");
    if (!reservations.contains(address, lengthBytes)) {
      throw new RestoreException("addresses at 0x" + Long.toHexString(address) + " are taken");
    }
  }

  private void require(String what) throws RestoreException {
    if (call.answerResult() != 0) {
      throw new RestoreException(what + " cannot be made again: CUDA error " + call.answerResult());
    }
  }

  private boolean isGpu(int gpu) {
    return gpu >= 0 && gpu < devices.size();
  }

  private long location(int gpu) {
    Memory.putInt(call.in(), LOCATION_DEVICE);
    Memory.putInt(call.in() + 4, devices.get(gpu));
    return call.in();
  }

  private long prop(int gpu) {
    long prop = call.in();
    Memory.clear(prop, PROP_BYTES);
    Memory.putInt(prop, PINNED);
    Memory.putInt(prop + PROP_LOCATION_TYPE, LOCATION_DEVICE);
    Memory.putInt(prop + PROP_LOCATION, devices.get(gpu));
    return prop;
  }
}
