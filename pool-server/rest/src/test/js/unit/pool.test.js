// SPDX-License-Identifier: Apache-2.0
import { clock } from './browser.js';
import { equal, test } from './harness.js';
import { Pool } from '../../../main/resources/io/gpupool/rest/page/js/pool.js';

function server(name, state = 'ready') {
  return { name, state, upMillis: 1000 };
}

function added(name, state) {
  return { kind: 'servers', change: 'added', id: name, resource: server(name, state) };
}

function names(pool) {
  return pool.servers().map(({ name }) => name);
}

test('apply: adds, changes and removes', () => {
  const pool = new Pool(() => {});
  pool.begin();
  pool.apply(added('a'));
  pool.apply(added('b'));
  pool.apply({ ...added('a', 'draining'), change: 'changed' });
  equal(
    pool.servers().map(({ name, state }) => `${name} ${state}`),
    ['a draining', 'b ready'],
  );
  pool.apply({ ...added('a'), change: 'removed' });
  equal(names(pool), ['b']);
});

test('apply: a kind that the page does not know is left alone', () => {
  const pool = new Pool(() => {});
  pool.apply({ kind: 'ponies', change: 'added', id: 'a', resource: {} });
  equal(pool.asOf, 0);
});

test('begin: what the new stream does not tell of is gone once it has settled', async () => {
  const pool = new Pool(() => {});
  pool.begin();
  pool.apply(added('a'));
  pool.apply(added('b'));
  pool.begin();
  pool.apply(added('b'));
  equal(names(pool), ['a', 'b']);
  await clock.pass(2000);
  equal(names(pool), ['b']);
});

test('begin: a stream that broke before it settled removes nothing', async () => {
  const pool = new Pool(() => {});
  pool.begin();
  pool.apply(added('a'));
  await clock.pass(2000);
  pool.begin();
  await clock.pass(1000);
  pool.begin();
  await clock.pass(1000);
  equal(names(pool), ['a']);
  await clock.pass(1000);
  equal(names(pool), []);
});

test('events: what a stream begins with is none, later changes are', async () => {
  const pool = new Pool(() => {});
  pool.begin();
  pool.apply(added('a'));
  equal(pool.events, []);
  await clock.pass(2000);
  pool.apply(added('b'));
  pool.apply({ ...added('b'), change: 'removed' });
  equal(
    pool.events.map(({ number, id, text }) => [number, id, text]),
    [
      [2, 'b', 'Server b left'],
      [1, 'b', 'Server b joined'],
    ],
  );
});

test('events: a change while the page was not connected is one', () => {
  const pool = new Pool(() => {});
  pool.begin();
  pool.apply(added('a'));
  pool.begin();
  pool.apply(added('a', 'draining'));
  equal(
    pool.events.map(({ text }) => text),
    ['Server a is draining'],
  );
});

test('events: the oldest are forgotten, and numbers go on', async () => {
  const pool = new Pool(() => {});
  pool.begin();
  await clock.pass(2000);
  for (let i = 0; i < 450; i++) {
    pool.apply(added(`s${i}`));
  }
  equal(pool.events.length, 400);
  equal(pool.events[0].number, 450);
  equal(pool.events.at(-1).number, 51);
});

test('age: goes on from what the server said', async () => {
  const pool = new Pool(() => {});
  pool.apply(added('a'));
  await clock.pass(5000);
  equal(pool.age('servers', 'a', 'upMillis'), 6000);
  equal(pool.age('servers', 'gone', 'upMillis'), 0);
});
