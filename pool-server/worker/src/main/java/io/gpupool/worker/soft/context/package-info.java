// SPDX-License-Identifier: Apache-2.0
/** Driver calls about devices, contexts, streams and events. */
@NullMarked
package io.gpupool.worker.soft.context;

import org.jspecify.annotations.NullMarked;
