// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.rings;

import io.gpupool.cuda.RingState;
import io.gpupool.cuda.SharedMemory;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.os.UnixSocket;
import java.io.IOException;

/** The program's end of a stream in shared memory: puts requests and takes answers. */
public final class ProgramRings implements AutoCloseable {
  private final int socket;
  private final long memory;
  private final RingPutter requests;
  private final RingTaker answers;
  private final long door = Memory.allocateForever(64);
  private boolean closed;

  /** Receives the memory; the socket is this object's to close. */
  public ProgramRings(int socket) throws IOException {
    this.socket = socket;
    int file = new UnixSocket(socket).receiveDescriptor().orElseThrow();
    memory = Posix.mapShared(file, 0, SharedMemory.MEMORY_BYTES);
    Posix.close(file);
    int capacity = SharedMemory.RING_BYTES;
    requests =
        new RingPutter(
            memory + SharedMemory.REQUESTS_STATE, memory + SharedMemory.REQUESTS, capacity);
    answers =
        new RingTaker(memory + SharedMemory.ANSWERS_STATE, memory + SharedMemory.ANSWERS, capacity);
  }

  public long memory() {
    return memory;
  }

  /** Puts in as much as has room; returns how much. */
  public long putSome(long address, long lengthBytes) {
    long put = requests.put(address, lengthBytes);
    if (requests.publish()) {
      wake();
    }
    return put;
  }

  /** Puts all in, waiting for room. */
  public void send(long address, long lengthBytes) {
    for (long sent = 0; sent < lengthBytes; ) {
      long put = putSome(address + sent, lengthBytes - sent);
      sent += put;
      if (put == 0) {
        requests.awaitRoom();
      }
    }
  }

  private void wake() {
    long ignored = Posix.send(socket, door, 1, Posix.MSG_DONTWAIT);
  }

  /** Has the worker believe that so many bytes were put in. */
  public void claimToHavePut(long lengthBytes) {
    Memory.putLongVolatile(memory + SharedMemory.REQUESTS_STATE + RingState.HEAD, lengthBytes);
  }

  /** Waits a little for room. */
  public void awaitRoom() {
    requests.awaitRoom();
  }

  /** Takes what there is, and waits for something; 0 at the end, or a negative error. */
  public long receive(long address, long roomBytes, int flags) {
    while (true) {
      long taken = answers.take(address, roomBytes);
      if (taken != -Posix.EAGAIN || flags == Posix.MSG_DONTWAIT) {
        return taken;
      }
      long came = answers.beginSleep() ? Posix.recv(socket, door, 64, 0) : 1;
      answers.endSleep();
      if (came <= 0) {
        taken = answers.take(address, roomBytes);
        return taken == -Posix.EAGAIN ? came : taken;
      }
    }
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      Posix.close(socket);
      Posix.unmap(memory, SharedMemory.MEMORY_BYTES);
    }
  }
}
