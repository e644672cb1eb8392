// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

/**
 * Who changed what.
 *
 * @param atMillis since 1970
 */
record AuditEntry(long atMillis, String actor, String action, String subject, String detail) {}
