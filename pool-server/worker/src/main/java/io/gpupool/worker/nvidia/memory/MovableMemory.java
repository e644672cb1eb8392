// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia.memory;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.MemoryRange;
import io.gpupool.worker.os.Memory;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The memory that a session has of a GPU, at addresses that it can have in another process as well:
 * allocations in the lower half of a range, addresses that the program reserves in the upper, and
 * the variables of modules where the driver has placed them. Any thread may use it; its lock is
 * held while memory comes and goes, and may be held so that none goes.
 */
public final class MovableMemory {
  /** The beginning of the range: an address that no driver, and no program, takes by itself. */
  public static final long BASE = 0x2000_0000_0000L;

  /** The length of the range. */
  public static final long SPACE_BYTES = 1L << 40;

  /** The blocks in which memory is mapped. */
  public static final long BLOCK_BYTES = PlacedMemory.BLOCK_BYTES;

  private static final long HALF_BYTES = SPACE_BYTES / 2;

  private final int gpu;

  @GuardedBy("this")
  private final PlacedMemory memory;

  @GuardedBy("this")
  private final ProgramMappings mappings =
      new ProgramMappings(BASE + HALF_BYTES, SPACE_BYTES - HALF_BYTES);

  @GuardedBy("this")
  private final ModuleVariables variables;

  @GuardedBy("this")
  private final NumberPlan plan = new NumberPlan();

  /**
   * Of a GPU, of which nothing is mapped yet.
   *
   * @param gpu the backend's ordinal
   */
  public MovableMemory(int gpu, BlockMapper mapper, VariableReader reader) {
    this.gpu = gpu;
    memory = new PlacedMemory(mapper, BASE, HALF_BYTES);
    variables = new ModuleVariables(reader);
  }

  public int gpu() {
    return gpu;
  }

  // Allocations

  /**
   * Allocates memory.
   *
   * @param out takes the address
   * @param owner the context that it ends with
   * @return a CUresult
   */
  public synchronized int allocate(long out, long lengthBytes, long owner) {
    OptionalLong planned = plan.next();
    PlacedMemory.Outcome outcome =
        planned.isPresent()
            ? memory.allocateAt(planned.getAsLong(), lengthBytes, owner)
            : memory.allocate(lengthBytes, owner);
    if (outcome.result() == 0) {
      plan.note(outcome.address());
      Memory.putLong(out, outcome.address());
    }
    return outcome.result();
  }

  /** Returns the context of the allocation that begins at an address; empty if there is none. */
  public synchronized OptionalLong owner(long address) {
    PlacedMemory.Allocation found = memory.find(address);
    return found == null ? OptionalLong.empty() : OptionalLong.of(found.owner());
  }

  /** Frees the allocation that begins at an address. */
  public synchronized void free(long address) {
    memory.free(address);
  }

  /** A context has ended, with its memory and its modules. */
  public synchronized void contextEnded(long context) {
    memory.freeOwned(context);
    variables.contextEnded(context);
  }

  // What programs map by themselves

  /**
   * Reserves addresses for the program.
   *
   * @return empty if there are not so many
   */
  public synchronized OptionalLong reserve(long lengthBytes, long alignmentBytes) {
    OptionalLong address =
        mappings.reserve(lengthBytes, Math.max(alignmentBytes, PlacedMemory.BLOCK_BYTES));
    if (address.isPresent()) {
      plan.note(address.getAsLong());
    }
    return address;
  }

  /** Reserves these addresses; false if they are not free, or not of the range. */
  public synchronized boolean reserveAt(long address, long lengthBytes) {
    boolean reserved = mappings.reserveAt(address, lengthBytes);
    if (reserved) {
      plan.note(address);
    }
    return reserved;
  }

  /** Returns the address that the program's next reservation had; empty if any will do. */
  public synchronized OptionalLong plannedReservation() {
    return plan.next();
  }

  /** Takes note of addresses that the driver has reserved elsewhere. */
  public synchronized void reservedElsewhere(long address) {
    plan.note(address);
  }

  /** Gives addresses back; false if they are not of the range. */
  public synchronized boolean freeReserved(long address, long lengthBytes) {
    return !mappings.isMapped(address, lengthBytes) && mappings.free(address, lengthBytes);
  }

  public synchronized void mapped(long address, long lengthBytes) {
    mappings.map(address, lengthBytes);
  }

  public synchronized void unmapped(long address, long lengthBytes) {
    mappings.unmap(address, lengthBytes);
  }

  /** Takes note of the access of the GPU: CUmemAccess_flags. */
  public synchronized void accessSet(long address, long lengthBytes, int access) {
    mappings.setAccess(address, lengthBytes, access);
  }

  // Modules

  /**
   * Takes note of the variables of a module.
   *
   * @param image address of its image
   * @param computeCapability of the GPU, 10 * major + minor
   */
  public synchronized void loaded(
      long context, long module, long image, long imageBytes, int computeCapability) {
    variables.loaded(plan, context, module, image, imageBytes, computeCapability);
  }

  public synchronized void unloaded(long module) {
    variables.unloaded(module);
  }

  // Moves

  /** Returns what cannot move, if there is such a thing. */
  public synchronized Optional<String> fixed() {
    return variables.fixed().or(mappings::fixed);
  }

  /** Returns all memory. */
  public synchronized List<MemoryRange> ranges() {
    List<MemoryRange> ranges = new ArrayList<>();
    memory
        .extents()
        .forEach(
            extent -> ranges.add(new MemoryRange(extent.address(), extent.lengthBytes(), true)));
    mappings
        .readable()
        .forEach((address, mapping) ->
            ranges.add(new MemoryRange(address, mapping.lengthBytes(), false)));
    variables
        .extents()
        .forEach(
            extent -> ranges.add(new MemoryRange(extent.address(), extent.lengthBytes(), false)));
    return ranges;
  }

  /** Maps memory for allocations to come; returns a CUresult. */
  public synchronized int stage(long address, long lengthBytes) {
    boolean isOfRange =
        address >= BASE && lengthBytes > 0 && lengthBytes <= BASE + HALF_BYTES - address;
    return isOfRange ? memory.stage(address, lengthBytes) : CudaResult.INVALID_VALUE;
  }

  /** The bytes that are staged, and not allocated yet. */
  public synchronized long stagedBytes() {
    return memory.stagedBytes();
  }

  public synchronized void beginNoting() {
    plan.begin();
  }

  public synchronized long[] noted() {
    return plan.noted();
  }

  /** Begins or ends the time in which a session is made again, after which nothing is staged. */
  public synchronized void setRestoring(boolean restoring) {
    plan.setRestoring(restoring);
    if (!restoring) {
      memory.endStaged();
    }
  }

  public synchronized void plan(long[] numbers) {
    plan.plan(numbers);
  }

  public synchronized boolean isPlanUsedUp() {
    return plan.isUsedUp();
  }

  /** Returns how something differs from what was planned last. */
  public synchronized Optional<String> difference() {
    return plan.difference();
  }
}
