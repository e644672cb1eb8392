// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.server.cache.TenantFiles;
import io.gpupool.server.worker.Worker;
import io.gpupool.server.worker.WorkerLink;
import io.gpupool.transport.Descriptors;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The workers' cache of files that sessions leave for later ones. Workers name a key and get a
 * descriptor, for files of their own tenant only. Owned by the control thread; files are read and
 * written on another.
 */
final class SessionCache {
  private static final int KEY_BYTES = 32;

  /** Requests at the disk at once, of all workers; more find nothing and keep nothing. */
  private static final int MAX_PENDING = 256;

  /** The same of one worker, so that no tenant has the disk for itself. */
  private static final int MAX_PENDING_OF_WORKER = 16;

  private static final Logger LOG = LoggerFactory.getLogger(SessionCache.class);

  private final Map<String, TenantFiles> kinds;
  private final Executor control;
  private final Executor disk;
  private final Map<Worker, Integer> pending = new HashMap<>();

  /**
   * A cache of some kinds of files.
   *
   * @param kinds where files of each kind are; a kind that is not there is not kept
   * @param disk runs what waits for a disk
   */
  SessionCache(Map<String, TenantFiles> kinds, Executor control, Executor disk) {
    this.kinds = Map.copyOf(kinds);
    this.control = control;
    this.disk = disk;
  }

  /** A worker's message of type {@code cache}. */
  void onMessage(Worker worker, String tenant, TextMessage message) {
    try {
      Optional<TenantFiles> files =
          Optional.ofNullable(kinds.get(message.require("kind"))).filter(kind -> hasPlace(worker));
      byte[] key = key(message.require("key"));
      switch (message.require("what")) {
        case "get" -> get(worker, files.orElse(null), tenant, key, message);
        case "put" -> {
          int theirs = (int) message.requireNumber("descriptor", Integer.MAX_VALUE);
          files.ifPresent(kind -> put(worker, kind, tenant, key, theirs));
          worker.send(answer(message).build());
        }
        default -> throw new WireException("to do what with the cache? " + message);
      }
    } catch (WireException e) {
      LOG.warn("worker {}: {}", worker.pid().orElse(0), e.getMessage());
      worker.send(answer(message).build());
    }
  }

  private void get(
      Worker worker, @Nullable TenantFiles files, String tenant, byte[] key, TextMessage message) {
    if (files == null) {
      worker.send(answer(message).build());
      return;
    }
    begin(worker);
    disk.execute(() -> {
      OptionalInt found = files.open(tenant, key);
      control.execute(() -> {
        end(worker);
        if (found.isPresent()) {
          worker.send(
              answer(message).put("descriptor", 1).build(), new FileDescriptor(found.getAsInt()));
        } else {
          worker.send(answer(message).build());
        }
      });
    });
  }

  /** Takes the worker's file in memory at once: the worker closes it after the answer. */
  private void put(Worker worker, TenantFiles files, String tenant, byte[] key, int theirs) {
    try {
      int copy = Descriptors.ofProcess(worker.pid().orElseThrow(), theirs);
      begin(worker);
      disk.execute(() -> {
        files.keep(tenant, key, copy);
        control.execute(() -> end(worker));
      });
    } catch (IOException e) {
      LOG.debug("worker {}: nothing is kept: {}", worker.pid().orElse(0), e.getMessage());
    }
  }

  private boolean hasPlace(Worker worker) {
    return pending.getOrDefault(worker, 0) < MAX_PENDING_OF_WORKER
        && pending.values().stream().mapToInt(Integer::intValue).sum() < MAX_PENDING;
  }

  private void begin(Worker worker) {
    pending.merge(worker, 1, Integer::sum);
  }

  private void end(Worker worker) {
    pending.computeIfPresent(worker, (_, count) -> count == 1 ? null : count - 1);
  }

  private static byte[] key(String digits) throws WireException {
    try {
      byte[] key = HexFormat.of().parseHex(digits);
      if (key.length == KEY_BYTES) {
        return key;
      }
    } catch (IllegalArgumentException e) {
      // told below, like a key that is too short
    }
    throw new WireException("not a key of " + KEY_BYTES + " bytes");
  }

  private static TextMessage.Builder answer(TextMessage to) {
    return WorkerLink.answer("cached", to);
  }
}
