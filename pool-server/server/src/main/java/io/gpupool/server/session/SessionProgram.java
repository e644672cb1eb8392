// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.Principal;
import io.gpupool.wire.DriverEnvironment;

/**
 * The program of a session.
 *
 * @param environment the variables that the driver reads
 * @param principal the caller that opened the session
 */
record SessionProgram(HolderName name, DriverEnvironment environment, Principal principal) {}
