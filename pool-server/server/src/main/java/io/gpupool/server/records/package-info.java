// SPDX-License-Identifier: Apache-2.0
/** What a pool remembers, and the form in which it is stored. */
package io.gpupool.server.records;
