// SPDX-License-Identifier: Apache-2.0
/** The options of the controller of pods' leases. */
@NullMarked
package io.gpupool.k8s.controller.options;

import org.jspecify.annotations.NullMarked;
