// SPDX-License-Identifier: Apache-2.0
/** The leases of one pod: which it needs, their life, and the texts about them. */
@NullMarked
package io.gpupool.k8s.controller.lease;

import org.jspecify.annotations.NullMarked;
