// SPDX-License-Identifier: Apache-2.0
/** Tests of the Helm chart, rendered by Helm itself. */
package io.gpupool.deploy.chart;
