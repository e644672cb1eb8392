// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

/** An effect of a transition, which {@link LeaseEffects} runs in the order of the table. */
enum LeaseEffect {
  /** Records that the holder is at this server, and tries again if that fails. */
  RECORD_HOLDER,

  /** Has the home server give the lease its grace period. */
  TELL_HOME,

  /** Plans {@link LeaseEvent#TELL_DUE}. */
  RETRY_TELL,

  /** Starts the grace period again. */
  START_GRACE,

  /** Records the end; the lease ends even if that fails. */
  RECORD_END,

  /** Tells the streams that hold the lease why it has ended. */
  NOTIFY_HOLDERS,

  /** Has the streams that hold the lease go to another server. */
  REDIRECT_HOLDERS,

  /** Takes the lease off the list of this server's, so that it is found where it is now. */
  UNLIST,

  /** Ends the sessions; {@link LeaseEvent#SESSIONS_GONE} follows when their workers are dead. */
  END_SESSIONS,

  /** Frees the parts of the lease on this server. */
  FREE,

  /** Frees the GPU that the lease had here before it moved. */
  FREE_FORMER,

  /** Plans {@link LeaseEvent#FREE_DUE}. */
  RETRY_FREE,

  /** Closes what this server has of the lease and forgets it. */
  FORGET,

  /** Has the queue look whether a request fits now. */
  ANNOUNCE_ROOM
}
