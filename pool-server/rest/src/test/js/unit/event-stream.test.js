// SPDX-License-Identifier: Apache-2.0
import { equal, test } from './harness.js';
import { EventStream } from '../../../main/resources/io/gpupool/rest/page/js/event-stream.js';

function event(id) {
  return `event: change\ndata: {"id":"${id}"}\n\n`;
}

test('take: several events in one piece', () => {
  equal(new EventStream().take(event('a') + event('b')), [{ id: 'a' }, { id: 'b' }]);
});

test('take: an event in pieces comes with the last of them', () => {
  const stream = new EventStream();
  const text = event('a');
  for (const letter of text.slice(0, -1)) {
    equal(stream.take(letter), []);
  }
  equal(stream.take(text.at(-1)), [{ id: 'a' }]);
});

test('take: the begin of an event waits for its rest', () => {
  const stream = new EventStream();
  equal(stream.take(event('a') + event('b').slice(0, 20)), [{ id: 'a' }]);
  equal(stream.take(event('b').slice(20)), [{ id: 'b' }]);
});

test('take: a comment is no change', () => {
  const stream = new EventStream();
  equal(stream.take(': alive\n\n'), []);
  equal(stream.take(': alive\n\n' + event('a')), [{ id: 'a' }]);
});
