// SPDX-License-Identifier: Apache-2.0
/** Files that processes keep for each other, for as long as there is room. */
package io.gpupool.soft.cache;
