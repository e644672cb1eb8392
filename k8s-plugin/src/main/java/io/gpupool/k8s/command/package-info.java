// SPDX-License-Identifier: Apache-2.0
/** The program gpupool-k8s: its commands and their parts. */
@NullMarked
package io.gpupool.k8s.command;

import org.jspecify.annotations.NullMarked;
