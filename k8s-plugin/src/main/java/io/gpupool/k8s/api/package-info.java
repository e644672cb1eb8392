// SPDX-License-Identifier: Apache-2.0
/** What all who speak with the API server need. */
package io.gpupool.k8s.api;
