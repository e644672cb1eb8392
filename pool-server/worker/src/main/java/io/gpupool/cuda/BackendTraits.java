// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cuda;

import io.gpupool.nccl.LibNccl;
import io.gpupool.nccl.NcclException;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.Optional;
import java.util.function.IntSupplier;

/** The properties and services of a backend beside the driver calls. */
public interface BackendTraits {
  /** Not told by the driver. */
  long NOT_TOLD = -1;

  /** The least alignment of allocations. */
  long MIN_BLOCK_BYTES = 512;

  /** Answer of {@link #launchHostTask}: the backend calls native functions instead. */
  int NATIVE_HOST_FUNCTIONS = -1;

  /** CUDA_ERROR_INVALID_IMAGE. */
  int INVALID_IMAGE = 200;

  /** CUDA_ERROR_NOT_SUPPORTED. */
  int NOT_SUPPORTED = 801;

  /**
   * The longest source that {@code cuMemcpyHtoDAsync_v2} has read when it returns, so that the
   * memory may be used again at once. Longer ones are staged by the session. The default is what
   * the CUDA driver says of pageable memory.
   */
  default long sourceReadAtOnceBytes() {
    return 64 << 10;
  }

  /**
   * Whether every device address that a call names is looked for among the device's allocations. If
   * not, as by a driver, which takes the address of this process's own memory as well, sessions
   * name only what is theirs.
   */
  default boolean checksAddresses() {
    return false;
  }

  /**
   * Returns whether a range of device memory lies within one allocation and is memory of this
   * process that stays mapped whatever the program frees: then it is sent from where it is, once
   * its stream is there.
   */
  default boolean isReadable(long address, long lengthBytes) {
    return false;
  }

  /**
   * Returns whether device memory is memory of this process, which the session may read and write
   * itself where {@link #isReadable} says so.
   */
  default boolean memoryIsInProcess() {
    return false;
  }

  /**
   * Returns whether an image can be handed to the backend: a driver believes what an image says of
   * lengths and addresses.
   */
  default boolean isSoundImage(long image, long imageBytes) {
    return DriverImage.isSound(image, imageBytes);
  }

  /**
   * Loads a module as {@code cuModuleLoadDataEx} does, from an image whose length is known.
   * Sessions call this one: a backend that reads the image itself must not trust the lengths
   * written in it.
   *
   * @param image address of the image; text is ended by a NUL or by the length; several fat
   *     binaries one after the other are to be linked
   * @return CUresult
   */
  default int loadModule(
      long module, long image, long imageBytes, int numOptions, long options, long optionValues) {
    if (!isSoundImage(image, imageBytes)) {
      return INVALID_IMAGE;
    }
    try (Arena arena = Arena.ofConfined()) {
      long whole = LinkedImage.forDriver(arena, image, imageBytes);
      return ((Backend) this).cuModuleLoadDataEx(module, whole, numOptions, options, optionValues);
    }
  }

  /**
   * Puts a host function into a stream, as {@code cuLaunchHostFunc} does but without a native
   * function.
   *
   * @param evenAfterFault whether it runs, with the fault as status, when the context has one
   *     ({@code cuStreamAddCallback} does, {@code cuLaunchHostFunc} does not)
   * @return CUresult, or {@link #NATIVE_HOST_FUNCTIONS}
   */
  default int launchHostTask(long stream, boolean evenAfterFault, HostTask task) {
    return NATIVE_HOST_FUNCTIONS;
  }

  /**
   * Sets where bytes printed by kernels go, in order; called once, before any launch. Backends
   * whose driver prints to the standard output of the process ignore it and return false.
   */
  default boolean printTo(PrintSink sink) {
    return false;
  }

  /**
   * Allocates device memory in the current context at an address of the caller's choice; a driver
   * chooses addresses itself.
   *
   * @return CUresult: INVALID_VALUE unless the address is one that allocations have and is free
   */
  default int allocateAt(long address, long lengthBytes) {
    return NOT_SUPPORTED;
  }

  /** Returns whether {@link #allocateAt} and {@link #freeRange} do anything. */
  default boolean allocatesAt() {
    return false;
  }

  /**
   * Finds free addresses of the current context's device that only {@link #allocateAt} takes.
   *
   * @return at most {@code wantedBytes}; {@link AddressRange#NONE} if there are none
   */
  default AddressRange freeRange(long wantedBytes) {
    return AddressRange.NONE;
  }

  /** Returns the services for moving sessions; empty if the backend cannot keep addresses. */
  default Optional<Relocation> relocation() {
    return Optional.empty();
  }

  /**
   * Returns whether calls of NCCL are carried out here, by {@link #nccl} or the workers themselves.
   */
  default boolean carriesOutCollectives() {
    return memoryIsInProcess();
  }

  /**
   * Loads NVIDIA's NCCL for the backend's GPUs, once; may take a while.
   *
   * @throws NcclException if there is none that can be used; the message is for the program
   */
  default LibNccl nccl() throws NcclException {
    throw new NcclException("these GPUs have no NCCL");
  }

  /**
   * Has another library submit work to a stream, as far as the session's time slice allows it.
   *
   * @param lengthBytes of what the work is about
   * @param work returns 0 if it was submitted
   * @return what the work returns
   */
  default int submit(long stream, long lengthBytes, IntSupplier work) {
    return work.getAsInt();
  }

  /**
   * Does work of a device on the calling thread, in the device's time, for which it waits if need
   * be. The work does not wait for anything.
   */
  default void compute(int device, Runnable work) {
    work.run();
  }

  /** Gives the backend the name of its session, for its lines in the log. */
  default void nameSession(String name) {}

  /**
   * Returns whether a module's functions can be listed for nothing. A driver may load the code of
   * each function that it is asked about, however few of them the program launches.
   */
  default boolean listsFunctions() {
    return false;
  }

  /**
   * Device memory that the variables of a loaded module occupy, to be counted as allocated; -1 if
   * the backend cannot tell, so that each variable is counted when its address is asked for.
   */
  default long moduleBytes(long module) {
    return -1;
  }

  /**
   * Device memory that the current context's heap, behind {@code malloc} in kernels, occupies, to
   * be counted as allocated; 0 if the backend cannot tell.
   */
  default long heapBytes() {
    return 0;
  }

  /**
   * Memory that a context takes of a GPU before anything is allocated in it, as far as it is known
   * before one is made; 0 where contexts take none.
   */
  default long contextBytes() {
    return 0;
  }

  /**
   * Memory that this process has of a GPU as its driver counts it, for whatever purpose, or {@link
   * #NOT_TOLD}.
   *
   * @param gpu the backend's ordinal
   */
  default long usedMemoryBytes(int gpu) {
    return NOT_TOLD;
  }

  /**
   * Whether GPUs have memory that processes share, of which {@code cuMemGetInfo} tells the rest for
   * all of them.
   */
  default boolean isSharedCard() {
    return false;
  }

  /** Blocks in which device memory is given out; small allocations share one. */
  default long memoryBlockBytes() {
    return MIN_BLOCK_BYTES;
  }

  /**
   * Has a GPU's work keep to its time as leases share it; called once, before any work.
   *
   * @return whether it does; if not, the session has to see to it
   */
  default boolean share(int gpu, DriverTime time) {
    return false;
  }

  /**
   * Sets the GPUs that kernels count and number when they ask for devices; called once, before any
   * context is made.
   *
   * @param gpus the backend's ordinals of those that the session has, in the program's order
   */
  default void setVisible(List<Integer> gpus) {}

  /**
   * Moves the memory of GPUs to a slot of the address space, of which a program's session on each
   * server has another one; called once, before any context is made.
   *
   * @param slot from 1 to 15; 0 is where memory is otherwise, in the order of the list
   * @param gpus the backend's ordinals of those that the session has
   * @return whether memory is there from now on; a driver gives the addresses that it likes
   */
  default boolean moveTo(int slot, List<Integer> gpus) {
    return false;
  }

  /**
   * Runs an action once all that has been submitted to the current context is done, which may be at
   * once. Any thread runs it. As default at once: calls of a driver that free memory wait for that.
   */
  default void afterWork(Runnable action) {
    action.run();
  }

  /**
   * Runs an action once a stream has come to where it ends now; any thread runs it.
   *
   * @return false if the backend does not do that: the session looks for an event instead
   */
  default boolean afterStream(long stream, Runnable action) {
    return false;
  }

  /** Returns whether memory pools may hold memory that the program has freed. */
  default boolean poolsKeepMemory() {
    return true;
  }

  /**
   * Whether work can be submitted: at once, or after the call has waited for work before it. If
   * not, so much waits for a host function that the session looks for its end among what comes in.
   */
  default boolean hasRoom() {
    return true;
  }

  /**
   * Sets the session whose calls the backend may keep waiting; called once, before any work.
   *
   * @param caller of the session's thread
   */
  default void setCaller(Caller caller) {}

  /** Time since the start in which at least one kernel or copy ran, in nanoseconds. */
  default long busyNanos() {
    return 0;
  }

  /**
   * The descriptor in what {@code cuIpcGetMemHandle}, {@code cuIpcGetEventHandle} or {@code
   * cuMemPoolExportPointer} wrote, which another process needs; -1 if there is none, as in what a
   * driver writes.
   */
  default int descriptorOf(long handle) {
    return -1;
  }

  /** Puts the descriptor as it is in this process into what another one's backend wrote. */
  default void setDescriptor(long handle, int descriptor) {}

  /**
   * Returns the reason for which the last call failed, where a backend knows more than a result.
   */
  default Optional<String> lastFailure() {
    return Optional.empty();
  }

  /** A range of device addresses. */
  record AddressRange(long address, long lengthBytes) {
    /** No address. */
    public static final AddressRange NONE = new AddressRange(0, 0);
  }

  /** A session, as a backend sees it that keeps its calls waiting. */
  interface Caller {
    /** Returns whether streams may wait for host functions of the program. */
    boolean hasHostFunctions();

    /**
     * Does what the session has to do while one of its calls waits; of any thread, but does
     * something in the session's own alone.
     */
    void lookAround();
  }

  /** Something the host does in a stream's order. */
  interface HostTask {
    /**
     * Begins it; does not wait.
     *
     * @param status CUresult of the stream
     * @param done run once when it is over, by any thread; the stream waits for that
     */
    void start(int status, Runnable done);
  }

  /** Takes bytes that a kernel printed; may be called from any thread. */
  interface PrintSink {
    /** Stream of lines that say why something failed, which go to the program's standard error. */
    int DIAGNOSTICS = 3;

    /**
     * Takes bytes.
     *
     * @param stream 0 for the program's standard output, 1 for its standard error, 2 for that if
     *     the program asked for reports, {@link #DIAGNOSTICS}
     * @param bytes the sink's afterwards
     */
    void print(int stream, byte[] bytes);
  }
}
