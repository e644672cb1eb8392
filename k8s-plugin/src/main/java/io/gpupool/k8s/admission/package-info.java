// SPDX-License-Identifier: Apache-2.0
/** The admission webhook: it rewrites pods and pod templates that ask for GPUs, or refuses them. */
@NullMarked
package io.gpupool.k8s.admission;

import org.jspecify.annotations.NullMarked;
