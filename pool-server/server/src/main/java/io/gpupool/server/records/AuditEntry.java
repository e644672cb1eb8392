// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

/**
 * An entry of the audit log: a change and who made it.
 *
 * @param atMillis since 1970
 */
public record AuditEntry(
    long atMillis, String actor, String action, String subject, String detail) {}
