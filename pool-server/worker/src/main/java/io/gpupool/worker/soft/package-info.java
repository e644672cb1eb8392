// SPDX-License-Identifier: Apache-2.0
/** The backend that runs driver calls on the software GPU. */
package io.gpupool.worker.soft;
