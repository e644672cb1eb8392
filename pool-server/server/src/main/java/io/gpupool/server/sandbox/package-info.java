// SPDX-License-Identifier: Apache-2.0
/** The walls around worker processes: which there are, and how a worker is started behind them. */
package io.gpupool.server.sandbox;
