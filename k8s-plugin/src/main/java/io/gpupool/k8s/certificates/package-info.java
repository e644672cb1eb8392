// SPDX-License-Identifier: Apache-2.0
/** The certificates of the chart's services: their authority, its roots and their renewal. */
@NullMarked
package io.gpupool.k8s.certificates;

import org.jspecify.annotations.NullMarked;
