// SPDX-License-Identifier: Apache-2.0
/** What a pool lacks and could do without, for those who add and remove servers. */
@NullMarked
package io.gpupool.server.autoscaling;

import org.jspecify.annotations.NullMarked;
