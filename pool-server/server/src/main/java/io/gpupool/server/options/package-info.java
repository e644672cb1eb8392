// SPDX-License-Identifier: Apache-2.0
/** The options of a server. */
package io.gpupool.server.options;
