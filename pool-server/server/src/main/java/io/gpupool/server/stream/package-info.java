// SPDX-License-Identifier: Apache-2.0
/** The port of the call streams. */
package io.gpupool.server.stream;
