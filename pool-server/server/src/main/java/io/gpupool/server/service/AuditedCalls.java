// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import io.gpupool.server.state.StateException;
import io.gpupool.server.tenant.Audit;
import io.gpupool.server.tenant.AuthInterceptor;
import io.grpc.stub.StreamObserver;

/** The calls whose only record is in the audit log. */
record AuditedCalls(Audit audit) {
  /** The effect of a call. */
  interface Change {
    void make() throws StateException;
  }

  /** Has the effect of a call once the audit log names the caller. */
  <T> void run(
      StreamObserver<T> reply,
      String action,
      String subject,
      String detail,
      Change change,
      T answer) {
    try {
      audit.note(AuthInterceptor.principal(), action, subject, detail);
      change.make();
    } catch (StateException e) {
      Replies.fail(reply, e);
      return;
    }
    Replies.answer(reply, answer);
  }
}
