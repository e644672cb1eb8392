// SPDX-License-Identifier: Apache-2.0
/** Parts of both processes: clients of the API server and of the pool, and the health port. */
@NullMarked
package io.gpupool.k8s.command.process;

import org.jspecify.annotations.NullMarked;
