// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.journal;

import org.jspecify.annotations.Nullable;

/**
 * A call that has a lasting effect.
 *
 * @param op its op
 * @param context the client's number of the context of its frame
 * @param frame its frame, header included
 * @param answer the fixed outputs that the client was told
 * @param numbers the numbers that the backend chose
 * @param fixed the reason for which a session that has it cannot move; null: it can
 */
@SuppressWarnings("ArrayRecordComponent")
public record JournalEntry(
    int op, int context, byte[] frame, byte[] answer, long[] numbers, @Nullable String fixed) {}
