// SPDX-License-Identifier: Apache-2.0
/** The options of the controller of pods' leases. */
package io.gpupool.k8s.controller.options;
