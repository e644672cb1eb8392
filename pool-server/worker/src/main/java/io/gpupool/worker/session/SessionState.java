// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.MemoryRange;
import io.gpupool.cuda.OpEffect;
import io.gpupool.cuda.OpEffects;
import io.gpupool.cuda.Ops;
import io.gpupool.cuda.Relocation;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.context.Contexts;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.journal.JournalEntry;
import io.gpupool.worker.session.journal.RestoreException;
import io.gpupool.worker.session.journal.SavedTopic;
import io.gpupool.worker.session.module.Images;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInput;
import java.io.DataInputStream;
import java.io.DataOutput;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * All that a session consists of, apart from the contents of its memory and of its images: written
 * down in one process, made again in another. Used by the session's thread.
 */
public final class SessionState {
  private static final int NO_IMAGE = -1;

  private final SavedParts parts;
  private final Contexts contexts;
  private final CurrentCall call;
  private final Relocation relocation;
  private final List<Integer> gpus;
  private final List<Images.Image> images = new ArrayList<>();

  /**
   * Of a session.
   *
   * @param gpus the backend's ordinals
   */
  SessionState(
      SavedParts parts,
      Contexts contexts,
      CurrentCall call,
      Relocation relocation,
      List<Integer> gpus) {
    this.parts = parts;
    this.contexts = contexts;
    this.call = call;
    this.relocation = relocation;
    this.gpus = gpus;
  }

  /** Returns why it cannot move, if there is a reason. */
  Optional<String> rejectionReason() {
    return parts
        .fixed()
        .or(relocation::fixed)
        .or(() ->
            parts.journal().entries().stream()
                .flatMap(entry -> relocation.fixed(entry.op()).stream())
                .findFirst())
        .map(SessionState::cannotMove);
  }

  /** Returns the reason that a session has something which stays. */
  static String cannotMove(String fixed) {
    return "it has " + fixed + ", which cannot move";
  }

  /** The memory of the session's GPUs. */
  public List<MemoryRange> memory() {
    return gpus.stream().flatMap(gpu -> relocation.memory(gpu).stream()).toList();
  }

  /** The images that {@link #save} refers to, in this order; good until {@link #release}. */
  public List<Images.Image> images() {
    return images;
  }

  /** Lets the images go. */
  public void release() {
    images.forEach(parts.images()::release);
    images.clear();
  }

  /**
   * Writes everything down.
   *
   * @throws RestoreException if something could not be made again from it
   */
  public void save(DataOutput to) throws IOException, RestoreException {
    List<JournalEntry> made = new ArrayList<>();
    List<JournalEntry> others = new ArrayList<>();
    for (JournalEntry entry : parts.journal().entries()) {
      if (!isContext(entry)) {
        others.add(entry);
      } else if (context(entry).exists()) {
        made.add(entry);
      }
    }
    save(made, to);
    save(parts.virtual(), to);
    save(others, to);
    Map<Integer, Images.Image> sent = parts.images().sent();
    to.writeInt(sent.size());
    for (Map.Entry<Integer, Images.Image> image : sent.entrySet()) {
      to.writeInt(image.getKey());
      to.writeLong(image.getValue().receivedBytes());
      to.writeInt(add(parts.images().share(image.getValue())));
    }
    for (SavedTopic topic : parts.topics()) {
      save(topic, to);
    }
  }

  private static void save(SavedTopic topic, DataOutput to) throws IOException {
    byte[] bytes = bytes(topic::save);
    to.writeInt(bytes.length);
    to.write(bytes);
  }

  private void save(List<JournalEntry> entries, DataOutput to)
      throws IOException, RestoreException {
    to.writeInt(entries.size());
    for (JournalEntry entry : entries) {
      save(entry, to);
    }
  }

  private void save(JournalEntry entry, DataOutput to) throws IOException, RestoreException {
    to.writeShort(entry.op());
    to.writeShort(entry.context());
    to.writeInt(entry.frame().length);
    to.write(entry.frame());
    to.writeShort(entry.answer().length);
    to.write(entry.answer());
    to.writeInt(entry.numbers().length);
    for (long number : entry.numbers()) {
      to.writeLong(number);
    }
    to.writeInt(entry.op() == Ops.moduleLoad ? add(parts.modules().takeImage(entry)) : NO_IMAGE);
    byte[] own =
        isContext(entry)
            ? bytes(out -> relocation.saveContext(context(entry).handle, out))
            : new byte[0];
    to.writeInt(own.length);
    to.write(own);
  }

  private int add(Images.Image image) {
    images.add(image);
    return images.size() - 1;
  }

  /**
   * Makes everything again, in a session that has nothing yet.
   *
   * @param received the images, which stay the caller's
   * @throws RestoreException if something cannot be made again as it was
   */
  void restore(DataInput from, List<Images.Image> received, Executor executor)
      throws IOException, RestoreException {
    relocation.setRestoring(true);
    call.setRestoring(true);
    try {
      restoreEntries(from, received, executor);
      contexts.all().stream().findFirst().ifPresent(first -> contexts.select(first.number));
      restore(parts.virtual(), from);
      restoreEntries(from, received, executor);
      for (int count = from.readInt(); count > 0; count--) {
        int number = from.readInt();
        long receivedBytes = from.readLong();
        parts.images().putBack(number, received.get(from.readInt()), receivedBytes);
      }
      for (SavedTopic topic : parts.topics()) {
        restore(topic, from);
      }
    } finally {
      call.setRestoring(false);
      relocation.setRestoring(false);
    }
  }

  private static void restore(SavedTopic topic, DataInput from)
      throws IOException, RestoreException {
    byte[] bytes = new byte[from.readInt()];
    from.readFully(bytes);
    topic.restore(new DataInputStream(new ByteArrayInputStream(bytes)));
  }

  private void restoreEntries(DataInput from, List<Images.Image> received, Executor executor)
      throws IOException, RestoreException {
    for (int count = from.readInt(); count > 0; count--) {
      restoreEntry(from, received, executor);
    }
  }

  /** Checks that the session has the memory that it had. */
  public void requireMemory(List<MemoryRange> wanted) throws RestoreException {
    Set<MemoryRange> missing = new HashSet<>(wanted);
    memory().forEach(missing::remove);
    if (!missing.isEmpty()) {
      MemoryRange first = missing.iterator().next();
      throw new RestoreException(
          "%d pieces of memory are not as they were, such as 0x%x of %d bytes"
              .formatted(missing.size(), first.address(), first.lengthBytes()));
    }
  }

  private void restoreEntry(DataInput from, List<Images.Image> received, Executor executor)
      throws IOException, RestoreException {
    int op = from.readShort();
    int context = from.readShort();
    byte[] frame = new byte[from.readInt()];
    from.readFully(frame);
    byte[] answer = new byte[from.readShort()];
    from.readFully(answer);
    long[] numbers = new long[from.readInt()];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = from.readLong();
    }
    int image = from.readInt();
    byte[] own = new byte[from.readInt()];
    from.readFully(own);
    if (OpEffects.of(op) == null) {
      throw new RestoreException(Ops.name(op) + " leaves nothing to be made again");
    }
    JournalEntry entry = new JournalEntry(op, context, frame, answer, numbers, null);
    parts.images().substitute(image == NO_IMAGE ? null : received.get(image));
    relocation.plan(numbers);
    execute(entry, executor);
    parts.images().substitute(null);
    if (isContext(entry) && own.length > 0) {
      DataInputStream saved = new DataInputStream(new ByteArrayInputStream(own));
      require(entry, relocation.restoreContext(context(entry).handle, saved));
    }
  }

  private void execute(JournalEntry entry, Executor executor) throws RestoreException {
    int result;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment frame = arena.allocate(entry.frame().length, Long.BYTES);
      Memory.put(frame.address(), entry.frame(), entry.frame().length);
      result = executor.execute(entry.op(), entry.context(), frame.address(), entry.frame().length);
    }
    require(entry, result);
    if (!relocation.isPlanUsedUp()) {
      throw new RestoreException(Ops.name(entry.op()) + " has made less than it had");
    }
    if (Ops.isFenced(entry.op()) && !Arrays.equals(call.answer(), entry.answer())) {
      throw new RestoreException(Ops.name(entry.op()) + " has another answer than it had");
    }
  }

  private void require(JournalEntry entry, int result) throws RestoreException {
    Optional<String> difference = relocation.difference();
    if (result != 0 || difference.isPresent()) {
      throw new RestoreException(
          Ops.name(entry.op())
              + " cannot be made again: "
              + difference.orElse("CUDA error " + result));
    }
  }

  private ContextState context(JournalEntry entry) {
    return contexts.find(entry.context());
  }

  private static boolean isContext(JournalEntry entry) {
    OpEffect effect = OpEffects.of(entry.op());
    return effect != null && effect.things().getFirst().isContext();
  }

  /** Executes frames as if they had been received. */
  interface Executor {
    /** Returns the CUresult, of fenced calls that of their answer. */
    int execute(int op, int context, long frame, int frameBytes);
  }

  private interface Writer {
    void write(DataOutput to) throws IOException;
  }

  private static byte[] bytes(Writer writer) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    writer.write(new DataOutputStream(bytes));
    return bytes.toByteArray();
  }
}
