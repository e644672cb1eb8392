// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Backend;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.context.Contexts;
import io.gpupool.worker.session.context.EventRecords;
import io.gpupool.worker.session.context.SavedContexts;
import io.gpupool.worker.session.copy.Mirrors;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.exchange.Exports;
import io.gpupool.worker.session.journal.Journal;
import io.gpupool.worker.session.journal.SavedTopic;
import io.gpupool.worker.session.memory.VirtualMemory;
import io.gpupool.worker.session.module.Images;
import io.gpupool.worker.session.module.Modules;
import io.gpupool.worker.session.quota.MemoryCredit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The parts of a session that know what it has.
 *
 * @param journal the calls that made most of it
 * @param exports what other sessions may have of it
 * @param virtual made again before anything else that lies in memory
 * @param topics made again after all that the journal tells of
 */
record SavedParts(
    Journal journal,
    Exports exports,
    Images images,
    Modules modules,
    VirtualMemory virtual,
    List<SavedTopic> topics) {
  /** Returns the topics of a session that write down by themselves what they have. */
  static List<SavedTopic> topics(
      Backend backend,
      CurrentCall call,
      HandleTables handles,
      Contexts contexts,
      Mirrors mirrors,
      MemoryCredit credit) {
    List<SavedTopic> topics = new ArrayList<>();
    topics.add(new SavedContexts(backend, call, contexts));
    topics.add(mirrors);
    topics.add(credit);
    backend
        .relocation()
        .ifPresent(relocation -> topics.add(new EventRecords(relocation, handles, contexts)));
    return topics;
  }

  /** Returns what cannot move, if there is such a thing. */
  Optional<String> fixed() {
    if (exports.isUsed()) {
      return Optional.of("memory or events that other processes may have");
    }
    return Stream.concat(
            Stream.of(journal.fixed(), virtual.fixed()), topics.stream().map(SavedTopic::fixed))
        .flatMap(Optional::stream)
        .findFirst();
  }
}
