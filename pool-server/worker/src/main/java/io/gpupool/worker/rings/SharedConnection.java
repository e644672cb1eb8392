// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.rings;

import io.gpupool.cuda.SharedMemory;
import io.gpupool.worker.connection.ProgramConnection;
import io.gpupool.worker.os.DescriptorReceipt;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.os.UnixSocket;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A connection with a program on this machine: memory with a ring for each direction, and a unix
 * socket. The socket carries the memory's descriptor, and then bytes that wake the side that
 * sleeps; its end is the connection's. One thread at a time receives, and one sends.
 */
public final class SharedConnection extends ProgramConnection {
  private static final int BYTES_AT_DOOR = 64;

  private final long memory;
  private final RingTaker requests;
  private final RingPutter answers;

  /** Of the thread that receives. */
  private final DescriptorReceipt door = new DescriptorReceipt(BYTES_AT_DOOR);

  /** A pollfd of the thread that sends; freed when this object is. */
  private final MemorySegment poll = Arena.ofAuto().allocate(8, 8);

  /** The last one that came and that nobody has taken; -1: none. */
  private int descriptor = -1;

  /** Something came on the socket, or it ended: the next receipt looks which. */
  private boolean look;

  private SharedConnection(int socket, long memory) {
    super(socket);
    this.memory = memory;
    requests =
        new RingTaker(
            memory + SharedMemory.REQUESTS_STATE,
            memory + SharedMemory.REQUESTS,
            SharedMemory.RING_BYTES);
    answers =
        new RingPutter(
            memory + SharedMemory.ANSWERS_STATE,
            memory + SharedMemory.ANSWERS,
            SharedMemory.RING_BYTES);
  }

  /**
   * Makes the memory and sends it to the program.
   *
   * @param socket a connected unix stream socket, on which nothing else has been sent
   * @throws IOException if there is no such memory, or the program has gone
   */
  public static SharedConnection open(int socket) throws IOException {
    int file = Posix.sealedMemoryFile("gpupool-stream", SharedMemory.MEMORY_BYTES);
    if (file < 0) {
      throw new IOException("no memory to share with the program: error " + -file);
    }
    try {
      long memory = Posix.mapShared(file, 0, SharedMemory.MEMORY_BYTES);
      if (memory == 0) {
        throw new IOException("memory to share with the program cannot be mapped");
      }
      UnixSocket.sendDescriptor(socket, file);
      return new SharedConnection(socket, memory);
    } finally {
      Posix.close(file);
    }
  }

  @Override
  public long receive(long address, long roomBytes, int flags) {
    boolean waits = (flags & Posix.MSG_DONTWAIT) == 0;
    while (true) {
      long taken = requests.take(address, roomBytes);
      if (taken != -Posix.EAGAIN || !waits && !look) {
        return taken;
      }
      long came = waits ? sleep() : answerDoor(Posix.MSG_DONTWAIT);
      look = false;
      if (came <= 0) {
        // What was put in before the end counts.
        taken = requests.take(address, roomBytes);
        return taken == -Posix.EAGAIN ? came : taken;
      }
    }
  }

  private long sleep() {
    long came = requests.beginSleep() ? answerDoor(0) : 1;
    requests.endSleep();
    return came;
  }

  private long answerDoor(int flags) {
    long came = door.receive(fd(), flags);
    int carried = came > 0 ? door.takeDescriptor() : -1;
    if (carried >= 0) {
      keep(carried);
    }
    return came;
  }

  private void keep(int carried) {
    if (descriptor >= 0) {
      Posix.close(descriptor);
    }
    descriptor = carried;
  }

  @Override
  public int takeDescriptor() {
    while (answerDoor(Posix.MSG_DONTWAIT) > 0) {
      // each receipt brings the bytes up to a descriptor
    }
    int taken = descriptor;
    descriptor = -1;
    return taken;
  }

  @Override
  public boolean awaitReadable(long pollFd, int millis) {
    boolean readable = !requests.beginSleep();
    if (!readable) {
      readable = super.awaitReadable(pollFd, millis);
      look = readable;
    }
    requests.endSleep();
    return readable;
  }

  @Override
  public int sendAll(long address, long lengthBytes, boolean moreFollows) {
    long sent = 0;
    while (sent < lengthBytes) {
      long part = answers.put(address + sent, lengthBytes - sent);
      if (part < 0) {
        return (int) part;
      }
      sent += part;
      if (part == 0 || sent < lengthBytes) {
        publish();
      }
      if (part == 0) {
        answers.awaitRoom();
        if (hasEnded()) {
          return -Posix.ECONNRESET;
        }
      }
    }
    if (!moreFollows) {
      publish();
    }
    return 0;
  }

  private void publish() {
    if (answers.publish()) {
      // If the byte finds no room, there are others that wake the program.
      long ignored = Posix.send(fd(), poll.address(), 1, Posix.MSG_DONTWAIT);
    }
  }

  private boolean hasEnded() {
    Memory.putInt(poll.address(), fd());
    Memory.putInt(poll.address() + 4, Posix.POLLRDHUP);
    return Posix.ready(poll.address(), 1) > 0;
  }

  @Override
  public void release() {
    keep(-1);
    Posix.unmap(memory, SharedMemory.MEMORY_BYTES);
  }
}
