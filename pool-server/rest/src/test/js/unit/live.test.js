// SPDX-License-Identifier: Apache-2.0
import { clock, json, server, settled } from './browser.js';
import { equal, test } from './harness.js';
import { follow } from '../../../main/resources/io/gpupool/rest/page/js/live.js';

globalThis.TextDecoderStream = class {};

/** An answer whose body comes in these pieces; 'silence' never ends. */
function stream(...pieces) {
  const read = async () => {
    if (pieces[0] === 'silence') {
      await new Promise(() => {});
    }
    return pieces.length > 0 ? { done: false, value: pieces.shift() } : { done: true };
  };
  return { ...json(200), body: { pipeThrough: () => ({ getReader: () => ({ read }) }) } };
}

/** Follows a server, and returns what was told as it comes. */
function following(answer) {
  const told = [];
  server.answer = answer;
  const retry = follow({
    onState: ({ live, reason, againAt }) =>
      told.push(live ? 'live' : `${reason}, again in ${(againAt - Date.now()) / 1000} s`),
    onBegin: () => told.push('begin'),
    onChange: ({ id }) => told.push(id),
  });
  return { told, retry };
}

test('follow: tells of the begin, then of all changes', async () => {
  const { told } = following(() =>
    stream(': alive\n\n', 'data: {"id":"a"}\n', '\ndata: {"id":"b"}\n\n', 'silence'),
  );
  await settled();
  equal(told, ['begin', 'live', 'a', 'b']);
});

test('follow: waits longer each time that the server cannot be reached', async () => {
  const { told } = following(() => {
    throw new TypeError('refused');
  });
  await clock.pass(60_000);
  equal(
    told.slice(0, 6).map((text) => text.replace('the server cannot be reached, again in ', '')),
    ['1 s', '2 s', '4 s', '8 s', '15 s', '15 s'],
  );
});

test('follow: a connection that was opened begins the waits anew', async () => {
  const answers = [0, 0, stream(': alive\n\n')];
  const { told } = following(() => answers.shift() || Promise.reject(new TypeError('refused')));
  await clock.pass(3_500);
  equal(told.slice(-3), ['begin', 'live', 'the server ended the connection, again in 1 s']);
});

test('follow: an error answer is told in the words of the server', async () => {
  const { told } = following(() => json(503, { detail: 'the pool is starting' }));
  await settled();
  equal(told, ['the pool is starting, again in 1 s']);
});

test('follow: retries at once if it is told to', async () => {
  const answers = [stream(), stream('data: {"id":"a"}\n\n', 'silence')];
  const { told, retry } = following(() => answers.shift());
  await settled();
  retry();
  await settled();
  equal(told.slice(1), ['begin', 'live', 'a']);
});
