// SPDX-License-Identifier: Apache-2.0
/** Sessions of programs on leases. */
@NullMarked
package io.gpupool.server.session;

import org.jspecify.annotations.NullMarked;
