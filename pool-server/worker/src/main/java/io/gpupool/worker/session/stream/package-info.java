// SPDX-License-Identifier: Apache-2.0
/** Streams, events and host functions. */
package io.gpupool.worker.session.stream;
