// SPDX-License-Identifier: Apache-2.0
/** The state that a session's driver calls share: handles, contexts, diagnostics. */
@NullMarked
package io.gpupool.worker.soft.state;

import org.jspecify.annotations.NullMarked;
