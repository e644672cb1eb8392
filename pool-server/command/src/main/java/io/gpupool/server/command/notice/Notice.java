// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command.notice;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A notice that this machine is about to be taken away.
 *
 * @param text what was read, for people
 * @param at when the machine goes; null: it is not said
 */
public record Notice(String text, @Nullable Instant at) {}
