// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.block;

import io.gpupool.soft.exec.launch.DeviceFaultException;
import io.gpupool.soft.exec.launch.GridServices;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.launch.KernelMemory;
import io.gpupool.soft.exec.launch.Launch;
import io.gpupool.soft.exec.matrix.Matrices;
import io.gpupool.soft.exec.memory.NativeMemory;
import io.gpupool.soft.exec.runtime.DeviceRuntimeState;
import io.gpupool.soft.memory.MemoryMap;
import io.gpupool.soft.memory.Pages;
import io.gpupool.soft.texture.Sample;
import org.jspecify.annotations.Nullable;

/**
 * A block of device threads: its coordinates, its memory, and who waits for whom. Reused for block
 * after block; owned by the worker thread that runs the block at the moment, so nothing here is
 * synchronised. Public for the generated code, which reads the fields and calls the methods.
 */
public final class ThreadBlock {
  public static final int WARP = 32;

  /** Loop turns after which a running thread looks whether its grid was cancelled. */
  public static final int POLL_TURNS = 4096;

  /** Loop turns after which a thread that may be waiting for others lets them run. */
  public static final int YIELD_TURNS = 128;

  /** The same for a thread that has let others run before and came to no wait since. */
  static final int YIELD_TURNS_AGAIN = 16;

  /** Loop turns that the thread run next has before it lets others run. */
  public int yieldTurns = YIELD_TURNS;

  public int ntidX;
  public int ntidY;
  public int ntidZ;
  public int ctaidX;
  public int ctaidY;
  public int ctaidZ;
  public int nctaidX;
  public int nctaidY;
  public int nctaidZ;

  /** Native address of the parameter block. */
  public long params;

  public long paramBytes;

  /** Native address of the block's shared memory. */
  public long shared;

  public int sharedBytes;

  /** Native address of the first thread's local memory. */
  public long local;

  public long localBytes;

  /** Distance between the local memories of neighbouring threads. */
  public long localStride;

  /**
   * Native address of the frames, which hold the threads' registers while they wait. Without calls,
   * each register has a row with a place for each of {@link #frameThreads} threads.
   */
  public long frames;

  public long frameThreads;

  /** Where each thread left the region that was run last, if not all left it at one place. */
  public int[] places = new int[0];

  private long frameStride;

  /** Whether the threads of its kernel may wait for each other. */
  private boolean waits;

  /** Local memory of a thread for each function that is active. */
  private long functionLocalBytes;

  /** Frame of a thread for each function that is active. */
  private long functionFrameBytes;

  /** Lowest address of the device region. */
  public long memoryBase;

  public long memoryBytes;

  /** Native address of the liveness bytes of {@link MemoryMap}. */
  public long granules;

  /** What the last texture instruction read. */
  public final Sample sample = new Sample();

  /** What the last surface instruction read, or the next one is to write. */
  public final long[] words = new long[4];

  /** What cooperative groups may expect for tiles of several warps, and more. */
  private static final int RESERVED_SHARED_BYTES = 512;

  private static final int RESERVED_COUNTER_BYTES = 32;

  /** How many brief looks a thorough one comes after; a power of two. */
  private static final int THOROUGH_POLLS = 128;

  /** The thread that ran into a fault; -1 where it was none alone. */
  public int faulted = -1;

  private final int worker;
  private int polls;

  @SuppressWarnings("NullAway.Init")
  private Grid grid;

  @SuppressWarnings("NullAway.Init")
  private BlockCluster cluster;

  private int clusterRank;
  private final Assertions assertions = new Assertions();

  /** What it has of the device runtime; null before the first call. */
  private @Nullable DeviceRuntimeState deviceRuntime;

  @SuppressWarnings("NullAway.Init")
  private ThreadScheduler scheduler;

  private @Nullable Matrices matrices;
  private @Nullable Pages pages;
  private int reservedShared;
  private long sharedCapacity;
  private long threadCapacity;

  ThreadBlock(int worker) {
    this.worker = worker;
  }

  Grid grid() {
    return grid;
  }

  public BlockCluster cluster() {
    return cluster;
  }

  public int clusterRank() {
    return clusterRank;
  }

  /** Its threads; null, or those of a block before, unless its kernel waits. */
  ThreadScheduler scheduler() {
    return scheduler;
  }

  /** Returns what the grid needs of its device. */
  public GridServices services() {
    return grid.services();
  }

  /** Returns the number of the worker thread that runs the block. */
  public int worker() {
    return worker;
  }

  /** Returns the number of worker threads that may run blocks of the grid. */
  public int workers() {
    return grid.workers();
  }

  /** Prepares for running blocks of a grid that have some rank in their clusters. */
  void enter(Grid next, BlockCluster itsCluster, int rank) {
    grid = next;
    cluster = itsCluster;
    clusterRank = rank;
    Launch launch = next.launch();
    CompiledKernel kernel = next.kernel();
    ntidX = launch.block().x();
    ntidY = launch.block().y();
    ntidZ = launch.block().z();
    nctaidX = launch.grid().x();
    nctaidY = launch.grid().y();
    nctaidZ = launch.grid().z();
    params = next.params();
    paramBytes = next.paramBytes();
    MemoryMap memory = next.memory();
    memoryBase = memory.base();
    memoryBytes = memory.sizeBytes();
    granules = memory.granulesAddress();
    KernelMemory needed = kernel.memory();
    waits = kernel.waits();
    functionLocalBytes = needed.localBytes();
    functionFrameBytes = needed.frameBytes();
    sharedBytes = needed.staticSharedBytes() + launch.dynamicSharedBytes();
    localBytes = functionLocalBytes * needed.maxDepth();
    // The last function that may be active still lays down what it would pass to another.
    int frameCount = needed.maxDepth() > 1 ? needed.maxDepth() + 1 : 1;
    long frameBytes = functionFrameBytes * frameCount;
    // Threads that never wait run one after the other and can share local memory and frame.
    int apart = waits ? threads() : 1;
    frameThreads = waits ? -(-apart & -16) : 1;
    localStride = waits ? localBytes : 0;
    frameStride = waits ? frameBytes : 0;
    reservedShared = -(-sharedBytes & -16);
    reserve(reservedShared + RESERVED_SHARED_BYTES, apart * localBytes, frameThreads * frameBytes);
    if (waits) {
      scheduler = scheduler == null ? new ThreadScheduler(this) : scheduler;
      scheduler.size(threads(), kernel);
    }
  }

  public int threads() {
    return ntidX * ntidY * ntidZ;
  }

  private void reserve(long sharedNeed, long localNeed, long frameNeed) {
    long localRounded = -(-localNeed & -64);
    long threadNeed = localRounded + frameNeed;
    if (pages == null || sharedNeed > sharedCapacity || threadNeed > threadCapacity) {
      release();
      sharedCapacity = roundUp(Math.max(sharedNeed, Math.max(sharedCapacity, 48 << 10)));
      threadCapacity = roundUp(Math.max(threadNeed, Math.max(threadCapacity, 16 << 10)));
      pages = Pages.map(sharedCapacity + threadCapacity);
      shared = pages.address();
      local = shared + sharedCapacity;
    }
    frames = local + localRounded;
  }

  private static long roundUp(long bytes) {
    return -(-bytes & -4096);
  }

  void release() {
    if (pages != null) {
      pages.close();
      pages = null;
    }
  }

  /** Sets the coordinates of the block to run next. */
  void begin(int x, int y, int z) {
    ctaidX = x;
    ctaidY = y;
    ctaidZ = z;
    faulted = -1;
    deviceRuntime = null;
    assertions.begin();
    if (waits) {
      scheduler.begin();
      // The counters of cooperative groups' tiles start at zero in every block.
      for (int offset = 0; offset < RESERVED_COUNTER_BYTES; offset += Long.BYTES) {
        NativeMemory.putLong(shared + reservedShared + offset, 0);
      }
    }
  }

  /**
   * Runs the block's threads.
   *
   * @return whether all have ended; false if they only spin, waiting for another block
   */
  boolean advance() {
    KernelCode code = grid.kernel().code();
    if (waits) {
      return scheduler.advance(code);
    }
    code.runAll(this);
    return true;
  }

  /** Returns the block's state of the device runtime, made at the first call. */
  public DeviceRuntimeState deviceRuntime() {
    if (deviceRuntime == null) {
      deviceRuntime = new DeviceRuntimeState(grid.services().runtime().open(), threads());
    }
    return deviceRuntime;
  }

  public Assertions assertions() {
    return assertions;
  }

  /**
   * Unwinds what runs if its grid was cancelled or an assertion failed, and holds it back while the
   * device is for others.
   */
  void throwIfStopped() {
    if ((++polls & THOROUGH_POLLS - 1) == 0) {
      grid.lookUp();
    } else {
      grid.lookUpBriefly();
    }
    assertions.throwIfFailed();
  }

  /** Returns its own coordinates. */
  public String coordinates() {
    return ctaidX + "," + ctaidY + "," + ctaidZ;
  }

  public String coordinates(int thread) {
    return thread % ntidX + "," + thread / ntidX % ntidY + "," + thread / ntidX / ntidY;
  }

  // What follows is called by generated code.

  /**
   * Unwinds the thread if its grid was cancelled, and holds it back while the device is for others;
   * returns the number of turns until next time.
   */
  public int poll() {
    grid.lookUp();
    assertions.poll();
    return POLL_TURNS;
  }

  /** A thread arrives at a barrier for all threads; the number is below 16. */
  public boolean barrierAll(int thread, int id) {
    return scheduler.barriers().arriveAll(thread, id) && scheduler.runsAhead();
  }

  public boolean barrier(int thread, int id, int count) {
    return scheduler.barriers().arrive(thread, id, count, Barriers.NONE, 0)
        && scheduler.runsAhead();
  }

  public boolean barrierReduce(int thread, int id, int count, int operation, int value) {
    return scheduler.barriers().arrive(thread, id, count, operation, value)
        && scheduler.runsAhead();
  }

  /** Counts for those that wait: in a kernel whose threads never wait, for nobody. */
  public void barrierArrive(int thread, int id, int count) {
    if (waits) {
      scheduler.barriers().arriveOnly(thread, id, count);
    }
  }

  /**
   * A thread arrives at a warp-wide operation.
   *
   * @param mask lanes that take part; 0 for those that happen to be there
   * @return whether it was the last one, so that the results are there already
   */
  public boolean warp(int thread, int operation, int mask, long value, int argument, int control) {
    return scheduler.warpOperations().arrive(thread, operation, mask, value, argument, control);
  }

  /** A thread lays down what it brings to a warp-wide operation, for {@link RegionRunner}. */
  public void bring(int thread, int operation, int mask, long value, int argument, int control) {
    scheduler.warpOperations().bring(thread, mask, value, argument, control);
  }

  /** A thread tells the checked native address of a row of a matrix: see {@link Matrices}. */
  public void row(int thread, long address) {
    matrices().row(thread, address);
  }

  /**
   * Where a thread lays down registers for a matrix instruction, and finds those that it gave: its
   * words begin at its number times {@link Matrices#LANE_WORDS}.
   */
  public int[] matrixWords(int thread) {
    return matrices().words(thread);
  }

  /** A register of 64 bits that a matrix instruction gave a thread. */
  public long laidWide(int thread, int index) {
    return matrices().laidWide(thread, index);
  }

  /** Returns the place of the threads' parts of matrices. */
  public Matrices matrices() {
    if (matrices == null) {
      matrices = new Matrices();
    }
    return matrices;
  }

  public int resultInt(int thread) {
    return (int) scheduler.result(thread);
  }

  public int resultPredicate(int thread) {
    return scheduler.predicate(thread);
  }

  /** Address of the frame of the function that the thread is in. */
  public long frame(int thread) {
    return frames + thread * frameStride + scheduler.depth(thread) * functionFrameBytes;
  }

  /** Start of that function's variables in the thread's local memory. */
  public long localBase(int thread) {
    return scheduler.depth(thread) * functionLocalBytes;
  }

  /** The thread enters a function that returns to a numbered place. */
  public void enter(int thread, int returnTo) {
    scheduler.enter(thread, returnTo);
  }

  /** The thread leaves a function; returns the place to go on at. */
  public int leave(int thread) {
    return scheduler.leave(thread);
  }

  public int badCall() {
    throw new DeviceFaultException(
        KernelFaultException.INVALID_PC, "call of an address that is no function's");
  }

  public int dynamicSharedBytes() {
    return grid.launch().dynamicSharedBytes();
  }

  /** Where shared memory begins that belongs to cooperative groups; it is there from now on. */
  public int reservedSharedStart() {
    sharedBytes = reservedShared + RESERVED_SHARED_BYTES;
    return reservedShared;
  }

  public int reservedSharedEnd() {
    return reservedSharedStart() + RESERVED_SHARED_BYTES;
  }

  public void trap() {
    throw new DeviceFaultException(KernelFaultException.LAUNCH_FAILED, "trap");
  }

  /** Returns whether an address outside of the device's own memory may be touched. */
  public boolean isLiveElsewhere(long address, int bytes) {
    return grid.memory().isLiveElsewhere(address, bytes);
  }
}
