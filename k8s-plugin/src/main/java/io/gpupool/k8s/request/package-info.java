// SPDX-License-Identifier: Apache-2.0
/** The requests of pods, in all spellings, and the reasons for refusing them. Pure functions. */
@NullMarked
package io.gpupool.k8s.request;

import org.jspecify.annotations.NullMarked;
