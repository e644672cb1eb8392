// SPDX-License-Identifier: Apache-2.0
/** {@code gpupool server}, and pools that live as long as one command. */
package io.gpupool.server.command;
