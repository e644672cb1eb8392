// SPDX-License-Identifier: Apache-2.0
/** {@code gpupool server}, and pools that live as long as one command. */
@NullMarked
package io.gpupool.server.command;

import org.jspecify.annotations.NullMarked;
