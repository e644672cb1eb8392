// SPDX-License-Identifier: Apache-2.0

/**
 * A real Chromium without a window, driven over its DevTools protocol: no more of that is here than
 * the page's test needs, and no driver of 200 MB is downloaded for it.
 */
package io.gpupool.e2e.browser;
