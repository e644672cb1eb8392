// SPDX-License-Identifier: Apache-2.0
/** Why something that was asked for is not done. */
package io.gpupool.server.refusal;
