// SPDX-License-Identifier: Apache-2.0
/** The records of a pool, and the form in which they are stored. */
package io.gpupool.server.records;
