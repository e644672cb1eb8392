// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

/** An event in the life of a lease. */
public enum LeaseEvent {
  /** A stream that holds the lease was opened at this server. */
  HOLDER_CAME,

  /** The holder has closed the last stream at this server that held the lease. */
  HOLDER_LEFT,

  /** The last stream at this server that held the lease broke; the holder may not know. */
  HOLDER_LOST,

  /** It is time to try again to record that this server has the holder. */
  RECORD_DUE,

  /** The home server has been told that it is to give the lease its grace period. */
  HOME_TOLD,

  /** The home server could not be told. */
  HOME_NOT_TOLD,

  /** It is time to try again to tell the home server. */
  TELL_DUE,

  /** This server took the lease in after a restart. */
  RESTORED,

  /** This server took the lease in, which another one granted. */
  ADOPTED,

  /** The record of the server that has the holder was written again. */
  HOLDER_RECORDED,

  /** The records were looked at, as they are once a second and after each change. */
  RECONCILED,

  /** The grace period is over. */
  GRACE_OVER,

  /** The pool ends the lease: a limit, a drain, a revoked token, a server that is gone. */
  END,

  /** The end of the lease has been recorded, by this server or by another. */
  END_RECORDED,

  /** Another GPU than before is recorded to be the lease's. */
  MOVED_AWAY,

  /** No session of the lease is left at this server. */
  SESSIONS_GONE,

  /** The parts of the lease on this server have been freed. */
  FREED,

  /** They could not be freed. */
  NOT_FREED,

  /** It is time to try again to free them. */
  FREE_DUE,

  /** This server leaves the pool. */
  SERVER_LEAVES
}
