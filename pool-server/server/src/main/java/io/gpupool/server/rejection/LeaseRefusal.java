// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.rejection;

import io.gpupool.control.v1.Refused;
import io.gpupool.rejection.RejectionText;
import java.util.function.UnaryOperator;

/**
 * A refusal of a lease request.
 *
 * @param wanted in words; empty: the request is not valid
 * @param waitedMillis for as long as its client wanted; 0: it did not wait to the end
 */
public record LeaseRefusal(RejectionReason reason, String wanted, long waitedMillis) {
  /** Returns the refusal as a message. */
  public Refused message() {
    return Refused.newBuilder()
        .setCause(reason.cause())
        .setReason(reason.message())
        .setWanted(wanted)
        .setWaitedMillis(waitedMillis)
        .build();
  }

  /** Returns the sentence, for logs. */
  public String text() {
    return RejectionText.of(message(), UnaryOperator.identity());
  }
}
