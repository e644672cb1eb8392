// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

/**
 * The state of a program's connection. A state gives back what it has when the connection goes on
 * to {@link Closed}; transitions that cannot be are mistakes of the caller.
 */
sealed interface AttachmentState {
  /*
   * A state is asked rather than matched by a switch, for which the JVM makes code at its first use:
   * each program that is started with its own agent would wait for that.
   */

  /** Returns the action that ends what is open in this state. */
  Runnable giveBack();

  /**
   * The program has said nothing yet.
   *
   * @param giveBack calls off the limit of this
   */
  record AwaitingRequest(Runnable giveBack) implements AttachmentState {}

  /** The program's sessions and call streams are being opened. */
  record Opening(Runnable giveBack) implements AttachmentState {}

  /** The program has its call streams, and this process waits for its end. */
  record HandedOver(Runnable giveBack) implements AttachmentState {}

  /** The program's connection is its call stream, and this process relays what comes. */
  record Relaying(Runnable giveBack) implements AttachmentState {}

  /** The program is answered or has left: nothing follows but the connection's end. */
  record Closed() implements AttachmentState {
    @Override
    public Runnable giveBack() {
      return () -> {};
    }
  }

  /** The request was answered, and no session follows from it. */
  default AttachmentState answered() {
    if (this instanceof AwaitingRequest awaiting) {
      awaiting.giveBack().run();
      return new Closed();
    }
    throw new IllegalStateException("answered in " + this);
  }

  /**
   * The request is for sessions.
   *
   * @param giveBack ends whatever is open then
   */
  default AttachmentState opening(Runnable giveBack) {
    if (this instanceof AwaitingRequest awaiting) {
      awaiting.giveBack().run();
      return new Opening(giveBack);
    }
    throw new IllegalStateException("opening in " + this);
  }

  /**
   * The state in which all call streams are connected.
   *
   * @param relayed whether the program's own connection is its call stream
   */
  default AttachmentState connected(boolean relayed) {
    if (this instanceof Opening opening) {
      return relayed ? new Relaying(opening.giveBack()) : new HandedOver(opening.giveBack());
    }
    throw new IllegalStateException("connected in " + this);
  }

  /** The connection has ended. */
  default AttachmentState closed() {
    giveBack().run();
    return new Closed();
  }
}
