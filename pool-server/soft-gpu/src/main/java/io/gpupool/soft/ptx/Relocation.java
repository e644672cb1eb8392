// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

/**
 * An 8-byte slot of a variable's initial bytes that must hold {@code address(symbol) + addend}.
 *
 * @param offsetBytes where the slot lies in the variable
 * @param symbol name of another module variable or function
 * @param addend bytes added to the symbol's address
 */
public record Relocation(int offsetBytes, String symbol, long addend) {}
