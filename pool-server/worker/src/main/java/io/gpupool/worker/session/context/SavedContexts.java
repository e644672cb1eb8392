// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.context;

import io.gpupool.cuda.Backend;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.journal.RestoreException;
import io.gpupool.worker.session.journal.SavedTopic;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Optional;

/**
 * The counts of contexts' retains, and the errors that contexts have to report. Used by the
 * session's thread alone.
 */
public final class SavedContexts implements SavedTopic {
  private final Backend backend;
  private final CurrentCall call;
  private final Contexts contexts;

  public SavedContexts(Backend backend, CurrentCall call, Contexts contexts) {
    this.backend = backend;
    this.call = call;
    this.contexts = contexts;
  }

  @Override
  public Optional<String> fixed() {
    return contexts.all().stream().anyMatch(ContextState::hasFailed)
        ? Optional.of("a context that has failed")
        : Optional.empty();
  }

  @Override
  public void save(DataOutput to) throws IOException {
    to.writeInt(contexts.all().size());
    for (ContextState context : contexts.all()) {
      to.writeInt(context.number);
      to.writeInt(context.retains());
      to.writeInt(context.error());
    }
  }

  @Override
  public void restore(DataInput from) throws IOException, RestoreException {
    for (int count = from.readInt(); count > 0; count--) {
      ContextState context = contexts.find(from.readInt());
      int retains = from.readInt();
      int error = from.readInt();
      if (!context.exists()) {
        throw new RestoreException("a context is not there");
      }
      for (int i = context.retains(); i < retains; i++) {
        backend.cuDevicePrimaryCtxRetain(call.out(), context.device);
      }
      context.setRetains(retains);
      if (error != 0) {
        context.report(error);
      }
    }
  }
}
