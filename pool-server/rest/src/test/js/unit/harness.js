// SPDX-License-Identifier: Apache-2.0
// The functions that tests of the page's modules are written with. PageScriptsTest runs the tests.

globalThis.tests = [];

/** Adds a test, which fails if it throws or if its promise is rejected. */
export function test(name, body) {
  globalThis.tests.push({ name, body });
}

/** Checks that two values are the same, or have the same contents. */
export function equal(actual, expected) {
  const [is, should] = [actual, expected].map((value) => text(value));
  if (is !== should) {
    throw new Error(`expected ${should}, but was ${is}`);
  }
}

/** Checks that something is true. */
export function ok(condition, otherwise) {
  if (!condition) {
    throw new Error(otherwise);
  }
}

function text(value) {
  return JSON.stringify(value, (_, part) =>
    part === undefined || Object.is(part, -0) || (typeof part === 'number' && !isFinite(part))
      ? `(${Object.is(part, -0) ? '-0' : part})`
      : part,
  );
}
