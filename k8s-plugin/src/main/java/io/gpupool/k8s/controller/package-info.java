// SPDX-License-Identifier: Apache-2.0
/** Reserves the leases of pods at the pool, holds them while the pods live, and ends them. */
package io.gpupool.k8s.controller;
