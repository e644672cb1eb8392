// SPDX-License-Identifier: Apache-2.0
/** Checks of the documents: links, form, language, and agreement with the code. */
package io.gpupool.deploy.docs;
