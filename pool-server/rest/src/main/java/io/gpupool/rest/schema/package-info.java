// SPDX-License-Identifier: Apache-2.0

/** JSON against JSON Schema, as far as the document of the REST interface uses it. */
package io.gpupool.rest.schema;
