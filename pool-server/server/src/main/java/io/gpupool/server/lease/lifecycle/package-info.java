// SPDX-License-Identifier: Apache-2.0
/** The life of a lease: its states, the table of its transitions, and the service that runs it. */
@NullMarked
package io.gpupool.server.lease.lifecycle;

import org.jspecify.annotations.NullMarked;
